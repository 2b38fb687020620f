"""
Letters to letters, with the alignment found on the way
=======================================================

Greek words and how they are written in Latin letters: pairs of words, nothing else. The model finds
out which letters belong together, also where one becomes two.
"""

import matplotlib.pyplot as plt

import trelliswork as tw

PAIRS = """\
καλημερα kalimera|θαλασσα thalassa|φιλος filos|ψωμι psomi|χαρα chara|βιβλιο vivlio|γατα gata
δεντρο dentro|ζωη zoi|ηλιος ilios|κοσμος kosmos|λογος logos|μηλο milo|νερο nero|ξενος xenos
οδος odos|πολη poli|ρολοι roloi|σπιτι spiti|τραπεζι trapezi|υδωρ ydor|ωρα ora|αγαπη agapi
ουρανος ouranos|μουσικη mousiki|ψαρι psari|φως fos|χρονος chronos"""
pairs = [pair.split() for pair in PAIRS.replace("\n", "|").split("|")]
model = tw.CRF(tw.Transducer(), l2=0.1).fit([a for a, _ in pairs], [b for _, b in pairs])

# %%
# A word that was not among them, and the pieces it is read as.
fig, ax = plt.subplots(figsize=(4.0, 1.8))
tw.plots.pieces(model, "ψυχη", title=model.predict(["ψυχη"])[0], ax=ax)
plt.show()

# %%
# How the fit went: the objective at every iteration.
fig, ax = plt.subplots(figsize=(5.4, 3.0))
tw.plots.history(model, ax=ax)
plt.show()
