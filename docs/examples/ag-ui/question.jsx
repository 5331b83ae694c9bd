// The form of a `request_user_selection` call: its arguments in, its answer out.

const ANSWERS = {
  single: ([choice]) => ({ value: choice }),
  multiple: (choices) => ({ values: choices }),
  date: (_, [date]) => ({ date }),
  date_range: (_, [start, end]) => ({ start, end }),
};

export function Question({ question, onAnswer }) {
  const { kind, prompt, options = [], min_date: min, max_date: max } = question;
  const dates = { date: ["Date"], date_range: ["From", "To"] }[kind] ?? [];

  function answer(event) {
    event.preventDefault();
    const inputs = [...event.currentTarget.querySelectorAll("input")];
    const chosen = inputs.filter((input) => input.checked).map((input) => input.value);
    const given = inputs.filter((input) => input.type === "date").map((input) => input.value);
    onAnswer(ANSWERS[kind](chosen, given));
  }

  return (
    <form onSubmit={answer}>
      <p>{prompt}</p>
      {options.map(({ value, label }) => (
        <label key={value}>
          <input
            type={kind === "single" ? "radio" : "checkbox"}
            name="choice"
            value={value}
            required={kind === "single"}
          />
          {label ?? value}
        </label>
      ))}
      {dates.map((label) => (
        <label key={label}>
          {label} <input type="date" min={min} max={max} required />
        </label>
      ))}
      <button>Answer</button>
      <button type="button" onClick={() => onAnswer({ cancelled: true })}>
        Skip
      </button>
    </form>
  );
}
