import { readFileSync } from 'node:fs';

/** What an expression of PromQL speaks of. */
interface Query {
  /** Series, with the labels that are matched, and the values that each may have. */
  selectors: { name: string; matchers: { label: string; operator: string; value: string }[] }[];
  /** Labels in `by`, `on`, `without` and the like. */
  grouped: string[];
}

const MATCHERS = String.raw`\{(?:[^{}"]|"[^"]*")*\}`;
const SERIES = new RegExp(String.raw`\b((?:drover|temporal|process|nodejs)_\w+)\s*(${MATCHERS})?`, 'g');
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;
const GROUPED = /\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
/** Words of PromQL that are followed by neither a bracket nor matchers. */
const KEYWORDS = new Set(['and', 'or', 'unless', 'by', 'on', 'without', 'ignoring', 'group_left', 'group_right']);

/** Reads an expression as far as its names go: whether it is valid is for promtool to say. */
export function readQuery(expression: string): Query {
  const selectors = [...expression.matchAll(SERIES)].map(([, name, matchers = '']) => ({
    name: name!,
    matchers: [...matchers.matchAll(MATCHER)].map(([, label, operator, value]) => ({
      label: label!,
      operator: operator!,
      value: value!,
    })),
  }));
  const grouped = [...expression.matchAll(GROUPED)].flatMap(([, labels]) =>
    labels!.split(',').map((one) => one.trim()),
  );
  return { selectors, grouped: grouped.filter((label) => label !== '') };
}

/** Returns words of an expression that are neither known series, functions, labels nor keywords. */
export function unknownWords(expression: string): string[] {
  const rest = expression
    .replaceAll(SERIES, ' ')
    .replaceAll(GROUPED, ' ')
    .replaceAll(/\[[^\]]*\]|\boffset \d+\w/g, ' ');
  return [...rest.matchAll(/[a-z_]\w*(?!\w)(\s*\()?/gi)]
    .filter(([word, bracket]) => bracket === undefined && !KEYWORDS.has(word) && !/^\d/.test(word))
    .map(([word]) => word);
}

const DASHBOARD = new URL('../../../deploy/monitoring/dashboard.json', import.meta.url);

interface Dashboard {
  panels: { targets?: { expr: string }[] }[];
}

/** Returns what the panels of the dashboard ask for, with the variables that Grafana puts in. */
export function expressionsOfDashboard(): string[] {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard;
  return panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*')),
  );
}
