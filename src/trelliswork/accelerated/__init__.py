"""Compiled solvers for one learner on one structure; never needed for correctness."""
