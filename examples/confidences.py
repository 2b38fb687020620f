"""How sure is the model: k-best lists, probabilities, samples, and what to check by hand."""

from __future__ import annotations

import numpy as np

import trelliswork as tw
from trelliswork.demo import handwritten_dates


def main() -> None:
    train, test = handwritten_dates(n_train=200, n_test=200)
    model = tw.CRF(tw.Chain(), l2=0.1, n_jobs=-1).fit(train.X, train.y)

    x, truth = test.X[0], test.y[0]
    print("truth          ", "".join(truth))
    for candidate in model.predict_kbest([x], k=3)[0]:
        print(f"{candidate.probability:14.1%}", "".join(candidate.output))
    print("least sure digit", int(model.predict_marginals([x])[0].max(axis=1).argmin()))
    print("samples        ", ["".join(s) for s in model.sample([x], 3, random_state=0)[0]])

    # Dates that the model is sure of are right more often: send the others to a person.
    found = model.predict(test.X)
    sure = np.exp(model.log_prob(test.X, found))
    right = np.array([a == b for a, b in zip(found, test.y, strict=True)])
    order = np.argsort(-sure)
    for share in (0.25, 0.5, 1.0):
        kept = order[: int(share * len(order))]
        print(f"surest {share:4.0%}: {right[kept].mean():.1%} of the dates wholly right")


if __name__ == "__main__":
    main()
