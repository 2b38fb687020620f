"""
From n-gram counts back to a string
===================================

Kernel regression predicts how often each pair of letters occurs in the output. Which string has
these counts? The one that walks over every arrow of this graph exactly once: an Euler trail.
"""

import matplotlib.pyplot as plt

import trelliswork as tw

counts = tw.ngram_counts("abracadabra", 2)
fig, ax = plt.subplots(figsize=(6.0, 3.8))
tw.plots.ngrams(counts, title="pairs of letters of a secret word", ax=ax)
plt.show()

# %%
# Several words share these counts; a language model says which is meant.
plain = tw.preimage(counts, 2)
words = tw.NGramModel(3).fit(["abracadabra", "cadabra", "abra"])
ranked = tw.preimage(counts, 2, language_model=words)
print(
    f"{plain.number} words have these counts; the first found is {plain.output}, the best is {ranked.output}"
)

# %%
# Predicted counts are never exact. The nearest counts that belong to a word are found by min-cost
# flow.
noisy = {"^b": 0.9, "ba": 0.8, "an": 1.6, "na": 1.7, "a$": 1.1, "n$": 0.2}
print(tw.preimage(noisy, 2).output)
