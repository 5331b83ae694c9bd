/**
 * The props of the components, checked again in the browser.
 *
 * `whole` says what a finished call must be, and is null for anything else: then the plain card
 * shows. `partial` takes what there is of props that still stream, and is null until there is
 * something to draw. Both copy what they know, and nothing else gets through.
 */

const TONES = ["info", "success", "warning", "danger"];
const MAX = { points: 500, series: 8, categories: 40, columns: 20, rows: 200, cards: 12 };

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isPoint = (value) => isNumber(value) || isText(value);
const isLeaf = (value) => value === null || isNumber(value) || isText(value) || isBoolean(value);
const isBoolean = (value) => typeof value === "boolean";
const optional = (check) => (value) => value === undefined || check(value);
const list = (check, min, max) => (value) =>
  Array.isArray(value) && value.length >= min && value.length <= max && value.every(check);

const isSeries = (value) =>
  isObject(value) &&
  isText(value.name) &&
  list((item) => item === null || isNumber(item), 0, MAX.points)(value.data);

const isColumn = (value) => isObject(value) && isText(value.key) && optional(isText)(value.label);

const isRow = (value) => isObject(value) && Object.values(value).every(isLeaf);

const isCard = (value) =>
  isObject(value) &&
  isText(value.label) &&
  (value.value === null || isPoint(value.value)) &&
  optional(isText)(value.unit) &&
  optional(isText)(value.delta);

const hasLabels = (props) =>
  [props.title, props.x_label, props.y_label].every((value) => optional(isText)(value));

const WHOLE = {
  line_chart: (props) =>
    hasLabels(props) &&
    list(isPoint, 2, MAX.points)(props.x) &&
    list(isSeries, 1, MAX.series)(props.series) &&
    props.series.every((series) => series.data.length === props.x.length),
  bar_chart: (props) =>
    hasLabels(props) &&
    list(isText, 1, MAX.categories)(props.categories) &&
    list(isSeries, 1, MAX.series)(props.series) &&
    props.series.every((series) => series.data.length === props.categories.length),
  table: (props) =>
    hasLabels(props) &&
    list(isColumn, 1, MAX.columns)(props.columns) &&
    list(isRow, 0, MAX.rows)(props.rows),
  metric_cards: (props) => hasLabels(props) && list(isCard, 1, MAX.cards)(props.cards),
  report: (props) => hasLabels(props) && isText(props.markdown),
  alert: (props) => hasLabels(props) && isText(props.message),
};

export const isComponent = (name) => isText(name) && Object.hasOwn(WHOLE, name);

/** Props that fit the component, or null. */
export function whole(component, props) {
  if (!isComponent(component) || !isObject(props) || !WHOLE[component](props)) return null;
  return { ...props, ...(TONES.includes(props.tone) ? {} : { tone: undefined }) };
}

const some = (value, check) => (Array.isArray(value) ? value.filter(check) : []);

const growing = (value) =>
  some(value, isObject)
    .slice(0, MAX.series)
    .map(({ name, data }) => ({
      name: isText(name) ? name : "",
      data: some(data, (item) => item === null || isNumber(item)),
    }));

const hasPoints = (props) => growing(props.series).some(({ data }) => data.length > 0);

const labels = (props) =>
  Object.fromEntries(
    ["title", "x_label", "y_label"]
      .filter((key) => isText(props[key]))
      .map((key) => [key, props[key]]),
  );

const PARTIAL = {
  line_chart(props) {
    const x = some(props.x, isPoint).slice(0, MAX.points);
    return x.length > 1 && hasPoints(props) ? { x, series: growing(props.series) } : null;
  },
  bar_chart(props) {
    const categories = some(props.categories, isText).slice(0, MAX.categories);
    return categories.length && hasPoints(props)
      ? { categories, series: growing(props.series) }
      : null;
  },
  table(props) {
    const columns = some(props.columns, isColumn).slice(0, MAX.columns);
    const rows = some(props.rows, isRow).slice(0, MAX.rows);
    return columns.length && Array.isArray(props.rows) ? { columns, rows } : null;
  },
  metric_cards(props) {
    const cards = some(props.cards, isCard).slice(0, MAX.cards);
    return cards.length ? { cards } : null;
  },
  report: (props) => (isText(props.markdown) ? { markdown: props.markdown } : null),
  alert: (props) => (isText(props.message) ? { message: props.message, tone: props.tone } : null),
};

/** What can be drawn of props that are still being written, or null. */
export function partial(component, props) {
  if (!isComponent(component) || !isObject(props)) return null;
  const drawn = PARTIAL[component](props);
  return (
    drawn && {
      ...labels(props),
      ...drawn,
      ...(TONES.includes(drawn.tone) ? {} : { tone: undefined }),
    }
  );
}
