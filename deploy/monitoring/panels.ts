/** Panels of a Grafana dashboard, as its JSON has them. */
export interface Panel {
  type: 'row' | 'stat' | 'timeseries' | 'table';
  title: string;
  description?: string;
  targets?: Target[];
  /** Of 24 columns; a row has all of them. */
  width?: number;
  [field: string]: unknown;
}

interface Target {
  expr: string;
  legendFormat: string;
  refId: string;
  instant?: boolean;
  format?: 'table';
}

/** What workers export has the name of their cluster: the dashboard shows one at a time. */
export const inCluster = (expr: string): string =>
  expr.replace(/\b((?:drover|temporal|nodejs|process)_\w+)(\{)?/g, (_, name: string, more?: string) =>
    more === undefined ? `${name}{cluster="$cluster"}` : `${name}{cluster="$cluster", `,
  );

const REF_IDS = 'ABCDEF';

/** Queries by the words of their legend, in which `{{label}}` is the value of a label. */
const targets = (queries: Record<string, string>, more: Partial<Target> = {}): Target[] =>
  Object.entries(queries).map(([legendFormat, expr], index) => ({
    expr: inCluster(expr),
    legendFormat,
    refId: REF_IDS[index]!,
    ...more,
  }));

export const row = (title: string): Panel => ({ type: 'row', title, collapsed: false, panels: [] });

/** One number, which is red from `bad` on; with `from: 'below'`, red below `bad`. Without `bad`, it is only told. */
export function stat(
  title: string,
  description: string,
  expr: string,
  { bad, from = 'above', legend = '' }: { bad?: number; from?: 'above' | 'below'; legend?: string } = {},
): Panel {
  const [low, high] = from === 'above' ? ['green', 'red'] : ['red', 'green'];
  const steps =
    bad === undefined
      ? [{ color: 'blue', value: null }]
      : [
          { color: low, value: null },
          { color: high, value: bad },
        ];
  return {
    type: 'stat',
    title,
    description,
    width: 4,
    targets: targets({ [legend]: expr }, { instant: true }),
    fieldConfig: { defaults: { thresholds: { mode: 'absolute', steps }, noValue: '0' }, overrides: [] },
    options: {
      colorMode: 'background',
      graphMode: 'none',
      textMode: legend === '' ? 'value' : 'value_and_name',
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    },
  };
}

const STACKED = { fillOpacity: 30, stacking: { mode: 'normal', group: 'A' } };

/** What there is over time. */
export const graph = (
  title: string,
  description: string,
  queries: Record<string, string>,
  { unit = 'short', stacked = false, width = 8 } = {},
): Panel => ({
  type: 'timeseries',
  title,
  description,
  width,
  targets: targets(queries),
  fieldConfig: { defaults: { unit, min: 0, ...(stacked ? { custom: STACKED } : {}) }, overrides: [] },
  options: { tooltip: { mode: 'multi', sort: 'desc' } },
});

/** A line for each series that there is now: what a user should look at. */
export const list = (title: string, description: string, expr: string, width = 8): Panel => ({
  type: 'table',
  title,
  description,
  width,
  targets: targets({ '': expr }, { instant: true, format: 'table' }),
  fieldConfig: { defaults: { noValue: 'none' }, overrides: [] },
  transformations: [{ id: 'organize', options: { excludeByName: { Time: true } } }],
  options: { showHeader: true },
});
