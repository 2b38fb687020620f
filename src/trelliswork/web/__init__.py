"""The page and the service of ``trelliswork serve``.

==================  ====================================================================================
``app``             the routes
``command``         what the command line starts
``connections``     the server, and connections that cannot be held for nothing
``guard``           who may ask: hosts, origins, tokens, headers of answers
``limits``          how much may be asked, and what a request would cost
``bodies``          request bodies, read up to a limit and within a time; JSON in and out
``asked``           what a request asks for, checked
``workers``         threads, a bounded queue, small requests answered together
``models``          the models that are served
``demos``           small models for looking around
``views/``          inputs and outputs of each structure as JSON, one file each
``answers``         predictions for inputs
``files``           whole files: tables, downloads, evaluations
``card``            what a model is: settings, training, weights
``openapi``         the service described for programs
``static/``         the page
==================  ====================================================================================

The drawings are in ``trelliswork.plots.drawing``, which pages without a server use, too.
"""

from __future__ import annotations

from typing import Any

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from trelliswork.web.app import create_app

        return create_app
    raise AttributeError(f"module 'trelliswork.web' has no attribute {name!r}")
