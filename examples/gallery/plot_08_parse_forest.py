"""
One sentence, two readings
==========================

"The man saw the bird with a telescope": who has the telescope? A grammar keeps both trees in one
packed forest. The best tree is drawn with the probability of each of its brackets over *all* trees
of the sentence.
"""

import matplotlib.pyplot as plt

import trelliswork as tw

trees = """\
(S (NP (D the) (N man)) (VP (V saw) (NP (NP (D the) (N dog)) (PP (P with) (NP (D a) (N hat))))))
(S (NP (D the) (N man)) (VP (VP (V saw) (NP (D the) (N bird))) (PP (P with) (NP (D a) (N telescope)))))
(S (NP (D a) (N cat)) (VP (VP (V saw) (NP (D a) (N bird))) (PP (P in) (NP (D the) (N garden)))))
(S (NP (D the) (N bird)) (VP (V sings)))""".splitlines()
X = [[word.rstrip(")") for word in tree.split() if not word.startswith("(")] for tree in trees]
parser = tw.Generative(tw.Grammar(min_count=1, vertical=1)).fit(X, trees)

sentence = "the man saw the bird with a telescope".split()
best, second = parser.predict_kbest([sentence], k=2)[0]
[brackets] = parser.predict_marginals([sentence])

fig, axes = plt.subplots(2, 1, figsize=(6.6, 7.4))
for ax, reading in zip(axes, (best, second)):
    tw.plots.tree(reading.output, probabilities=brackets, title=f"{reading.probability:.0%}", ax=ax)
plt.show()

# %%
# Brackets that both readings share are sure; the two that compete split the rest.
for (label, start, stop), p in sorted(brackets.items(), key=lambda item: -item[1]):
    if 0.01 < p < 0.99:
        print(f"{p:.2f} {label:3} {' '.join(sentence[start:stop])}")
