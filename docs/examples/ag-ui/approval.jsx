// The form of a tool call that waits for an approval: the call in, the decision out.

export function Approval({ tool, args, mayHaveRun, onDecide }) {
  function decide(event) {
    event.preventDefault();
    const reason = event.currentTarget.elements.reason.value.trim();
    onDecide({ approved: event.nativeEvent.submitter.value === "yes", ...(reason && { reason }) });
  }

  return (
    <form onSubmit={decide}>
      <p>Run {tool}?</p>
      <pre>{JSON.stringify(args, null, 2)}</pre>
      {mayHaveRun && <p>It was approved before and cut off: it may have run.</p>}
      <label>
        Reason <input name="reason" autoComplete="off" />
      </label>
      <button value="yes">Approve</button>
      <button value="no">Decline</button>
    </form>
  );
}
