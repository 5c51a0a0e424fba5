"""Two samples of a number: which way did it move, by how much, and is that real?"""

from dkmd import peers
from dkmd.embedding import embedding_difference
from dkmd.exact import exact
from dkmd.population import population
from dkmd.riemann import RiemannBlock, RiemannWitness, riemann, riemann_witness
from dkmd.witness import Witness

__version__ = "0.1.0"

__all__ = [
    "RiemannBlock",
    "RiemannWitness",
    "Witness",
    "embedding_difference",
    "exact",
    "peers",
    "population",
    "riemann",
    "riemann_witness",
]
