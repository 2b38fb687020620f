"""
Named entities and how sure each label is
=========================================

A tagger that never says how sure it is cannot be trusted with a large archive. Here a CRF finds
people, places, firms and dates, and every label is as strong in colour as it is probable.
"""

import matplotlib.pyplot as plt

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.web.demos import sentences

X, y = sentences(300)
model = tw.make_pipeline(TokenWindow(), tw.CRF(tw.Chain(scheme="BIO", emissions="observed"))).fit(X, y)

# %%
# A person, a firm and a city that training never saw, and Vienna, which it did: weak colours say where to
# look.
sentence = "Maria Haddad of Blue Harbour took the train from Vienna to Port Elizabeth on 3 May .".split()
fig, ax = plt.subplots(figsize=(6.4, 2.2))
tw.plots.marginals(model, sentence, width=58, ax=ax)
plt.show()

# %%
# The same numbers as a list: tokens whose label is less than 90 % sure.
[table] = model.predict_marginals([sentence])
for word, label, sure in zip(sentence, model.predict([sentence])[0], table.max(axis=1)):
    if sure < 0.9:
        print(f"{word:10} {label:7} {sure:.2f}")
