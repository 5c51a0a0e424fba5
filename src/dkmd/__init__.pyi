from .answers.compare import compare as compare
from .answers.comparison import CategoryComparison as CategoryComparison
from .answers.comparison import Comparison as Comparison
from .answers.comparison import Comparisons as Comparisons
from .answers.comparison import Drift as Drift
from .answers.comparison import Segmented as Segmented
from .answers.drift import drift as drift
from .answers.riemann import riemann as riemann
from .base.errors import DkmdError as DkmdError
from .base.errors import SummaryFileError as SummaryFileError
from .binned.grid import Grid as Grid
from .binned.summary import Summary as Summary
from .inference.fitting import fit_witness as fit_witness
from .inference.margins import equivalence as equivalence
from .inference.margins import verdict as verdict
from .inference.planning import detectable_shift as detectable_shift
from .inference.planning import plan as plan
from .inference.planning import power as power
from .inference.planning import sample_size as sample_size
from .inference.rel import dkmd_rel as dkmd_rel
from .inference.result import DkmdResult as DkmdResult
from .inference.two_sample import dkmd_2samp as dkmd_2samp
from .statistic import peers as peers
from .statistic.embedding import embedding_difference as embedding_difference
from .statistic.exact import exact as exact
from .statistic.population import population as population
from .statistic.riemann import RiemannBlock as RiemannBlock
from .statistic.riemann import RiemannWitness as RiemannWitness
from .statistic.riemann import riemann_witness as riemann_witness
from .statistic.witness import Witness as Witness

__version__: str
__all__: list[str]
