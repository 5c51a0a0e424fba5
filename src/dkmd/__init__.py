"""Two samples of a number: which way did it move, by how much, and is that real?"""

from dkmd import peers
from dkmd.embedding import embedding_difference
from dkmd.exact import exact
from dkmd.grid import Grid
from dkmd.margins import equivalence, verdict
from dkmd.planning import detectable_shift, power, sample_size
from dkmd.population import population
from dkmd.result import DkmdResult
from dkmd.riemann import RiemannBlock, RiemannWitness, riemann, riemann_witness
from dkmd.summary import Summary
from dkmd.summary_file import SummaryFileError
from dkmd.two_sample import dkmd_2samp
from dkmd.witness import Witness

__version__ = "0.1.0"

__all__ = [
    "DkmdResult",
    "Grid",
    "RiemannBlock",
    "RiemannWitness",
    "Summary",
    "SummaryFileError",
    "Witness",
    "detectable_shift",
    "dkmd_2samp",
    "embedding_difference",
    "equivalence",
    "exact",
    "peers",
    "population",
    "power",
    "riemann",
    "riemann_witness",
    "sample_size",
    "verdict",
]
