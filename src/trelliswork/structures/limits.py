"""How much is done at a time: sizes of chunks, bounds on memory, sizes up to which matrices are dense.

They decide how results are computed, or refused before memory runs out, and not what the results are. Chunks
are cut by the data and these numbers alone, never by the number of threads, so that sums are taken in the
same order on every machine; other limits may change the last bits of a sum. The defaults suit a machine with
16 GB.
:meth:`Structure.with_limits <trelliswork.structures.Structure.with_limits>` sets others.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AlignmentLimits", "ChainLimits", "ClassesLimits", "GrammarLimits", "Limits", "RNALimits"]


@dataclass(frozen=True)
class Limits:
    """Limits of every structure.

    Attributes
    ----------
    matrix_bytes : int
        Largest matrix of second moments of features; a larger one is refused.
    matrix_features : int
        Up to so many features the matrix of second moments is cheaper than products with it, since it costs
        one product per feature.
    deviation_floats : int
        Entries of the matrix of deviations from which a direct solver for moments about the mean makes one
        for moments about the true outputs; with more there is none.
    increment_features : int
        Up to so many features second moments over derivation graphs are summed as matrices; above, one
        tangent per feature is faster.
    edges_per_chunk : int
        Edges of derivation graphs that a thread takes at a time.
    product_edges : int
        Edges of the products of all samples of a batch with their loss automata, about 50 bytes each; more
        are refused.
    rows_per_chunk : int
        Rows of attributes that a thread takes at a time: few enough for its cache.
    draw_codes : int
        Codes of sampled outputs whose features are computed together.
    leaf_samples : int
        Samples at least of a leaf of the tree in which the sums of a search are taken.
    coarse_samples : int
        Samples from which on a search of chains with an L1 penalty starts from the solution for an eighth of
        them.
    """

    matrix_bytes: int = 4 << 30
    matrix_features: int = 1000
    deviation_floats: int = 32_000_000
    increment_features: int = 400
    edges_per_chunk: int = 65536
    product_edges: int = 20_000_000
    rows_per_chunk: int = 16384
    draw_codes: int = 200_000
    leaf_samples: int = 1024
    coarse_samples: int = 2048


@dataclass(frozen=True)
class ChainLimits(Limits):
    """Limits of label sequences.

    Attributes
    ----------
    settling_tokens : int
        Tokens from which on training makes steps on the unsure ones alone, between steps on all.
    settling_share : float
        Share of the tokens up to which that pays.
    settled : float
        Probability from which on a label is sure; the others' share of the curvature is what counts.
    tokens_per_chunk : int
        Tokens that a thread takes at a time.
    tokens_per_sum : int
        Tokens at least that have a partial sum of their own in products with second moments; partial sums are
        as large as the weights.
    graph_edges_per_chunk : int
        Edges of the derivation graphs of sequences that are built at a time, about 100 bytes each.
    lane_floats : int
        Scores of a group of sequences that go through the recursion side by side: they should stay in the
        cache.
    joined_floats : int
        Scores of attributes joined with label n-grams that are held in tables at a time.
    ngrams : int
        Entries of the map from weights of label n-grams to scores; a higher order is refused.
    kept_floats : int
        Probabilities of contexts of seen n-grams that are kept for the sweep back; others are computed again.
    fewest_kept : int
        Tokens whose probabilities are kept whatever the number of contexts.
    uniform_matrix_features : int
        ``matrix_features`` of the uniform law, whose matrix has a closed form.
    frequent_attributes : int
        Attributes whose block is inverted in preconditioners; its eigenvalues cost the cube of the number.
    tokens_per_frequent : int
        Tokens for each of these attributes; with fewer, the block costs more than it saves.
    gram_attributes : int
        Columns of arrays whose covariance is inverted.
    direct_labels : int
        Labels up to which the direct solver is tried; its last system has their square as its size.
    """

    leaf_samples: int = 16_384
    settling_tokens: int = 20_000
    settling_share: float = 0.6
    settled: float = 0.99
    tokens_per_chunk: int = 16384
    tokens_per_sum: int = 65536
    graph_edges_per_chunk: int = 200_000
    lane_floats: int = 4_000_000
    joined_floats: int = 4_000_000
    ngrams: int = 3_000_000
    kept_floats: int = 1 << 25
    fewest_kept: int = 16
    uniform_matrix_features: int = 3000
    frequent_attributes: int = 512
    tokens_per_frequent: int = 100
    gram_attributes: int = 3000
    direct_labels: int = 60


@dataclass(frozen=True)
class AlignmentLimits(Limits):
    """Limits of alignments; the cells of a pair are the product of the lengths.

    Attributes
    ----------
    cells_per_chunk : int
        Cells that a thread takes at a time.
    search_cells_per_chunk : int
        The same in the search with vector instructions, which is faster by an order of magnitude.
    moment_cells_per_chunk : int
        The same for second moments, which take longer for every cell.
    moment_features : int
        Features whose second moments go through the cells together: as many as the cache holds for a row.
    columns_per_chunk : int
        Columns of alignments that a thread takes at a time.
    traced_cells : int
        Cells of a pair up to which the search keeps the choice of every cell; above, it keeps some rows and
        computes the others twice.
    lane_cells : int
        Cells of a pair up to which the search for paths uses vector instructions, which keep every choice.
    posterior_cells : int
        Cells of all pairs whose posteriors are computed at once, 8 bytes each; more are refused.
    count_entries : int
        Entries of the tables of counts per pair that are held at a time.
    graph_cells : int
        Cells of a pair whose alignments are listed as a derivation graph; more are refused.
    """

    cells_per_chunk: int = 1 << 17
    search_cells_per_chunk: int = 1 << 21
    moment_cells_per_chunk: int = 1 << 15
    moment_features: int = 48
    columns_per_chunk: int = 1 << 18
    traced_cells: int = 1 << 24
    lane_cells: int = 1 << 26
    posterior_cells: int = 1 << 29
    count_entries: int = 1 << 22
    graph_cells: int = 1 << 23


@dataclass(frozen=True)
class GrammarLimits(Limits):
    """Limits of parse trees; the work for a sentence is its length cubed.

    Attributes
    ----------
    work_per_chunk : int
        Work that a thread takes at a time.
    forest_edges : int
        Rules applied in all trees of a sentence, before pruning, about 30 bytes each; more are refused where
        trees have to be listed.
    kept_edges : int
        Rules applied in the pruned forests that are kept for all sentences together.
    listed_work : int
        Work for the sentences whose forests are worth keeping; sums over the trees of further sentences are
        cheaper without a forest.
    row_bytes : int
        Largest table of one value per sample and rule; a larger one is refused.
    sentence_work : int
        Largest work for one sentence, its length cubed times the rules of two symbols; a longer sentence is
        refused before the work begins.
    """

    work_per_chunk: int = 40_000
    forest_edges: int = 20_000_000
    kept_edges: int = 12_000_000
    listed_work: int = 10_000_000
    row_bytes: int = 4 << 30
    sentence_work: int = 1_000_000_000_000


@dataclass(frozen=True)
class RNALimits(Limits):
    """Limits of RNA folds.

    Attributes
    ----------
    work_per_chunk : int
        Work that a thread takes at a time, in units of 64 multiplications.
    table_bytes : int
        Largest tables of one sequence; a sequence that needs larger ones is refused.
    graph_bases : int
        Bases of a sequence whose folds are listed as a derivation graph, about 25 million edges; more are
        refused.
    loop_graph_bases : int
        The same for the nearest-neighbour model, which has an edge for every loop.
    overlap_bases : int
        Bases of a sequence whose folds are counted by predicted and right pairs: the tables grow with the
        sixth power.
    """

    work_per_chunk: int = 1 << 19
    table_bytes: int = 16 << 30
    graph_bases: int = 400
    loop_graph_bases: int = 200
    overlap_bases: int = 64


@dataclass(frozen=True)
class ClassesLimits(Limits):
    """Limits of classes.

    Attributes
    ----------
    weights : int
        Pairs of an attribute and a class; more are refused.
    gram_attributes : int
        Attributes whose matrix of products is decomposed by the direct solver.
    """

    leaf_samples: int = 32_768
    weights: int = 1_000_000_000
    gram_attributes: int = 3000
