"""The offline model: a chat model without network, key or randomness, so that all can be seen.

It fakes no result: it reads the names of the tools that are bound to it, calls them, and puts
their results into words. A message is cut into clauses and the clauses into steps; each clause is
offered to the intents in turn, and the first that knows it says which tools to call.

    messages -> history.read -> Turn -> clauses.steps -> intents.INTENTS -> plan.Plan -> chunks

To teach it something new, write an intent (`ask.Intent`: a clause and the facts of the turn in,
asks out) and put it into `intents.INTENTS`; the wording of its tool's result goes into
`answers.WORDS`, what a chart, a table or a card shows of it into `figures.FIGURES`, both by the
tool's name. An intent is tried on every model call again, with the results so far in its facts.
Then "... as a line chart", "then show it in a table" and the like work without another line.

A result that offers its points (`data_from`, `draws`) is shown by naming it; no number is written
again. A result without data is tried once more: see `again`.
"""

from turnstream.graphs.offline.examples import EXAMPLES
from turnstream.graphs.offline.model import OfflineChatModel

__all__ = ["EXAMPLES", "OfflineChatModel"]
