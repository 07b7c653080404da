import { formatNames } from '../../decisions/lib/names.ts';
import { formatVms } from '../../decisions/runs/report.ts';
import { Failure } from '../cli/failure.ts';
import { printNote, plain, print, table, type Cell, type Style, printData, type DataFormat } from '../cli/print.ts';
import type { PlannedItem, PlannedNeed, TransitionPlanned } from './plan.ts';

export type PlanFormat = DataFormat | 'wide';

/** Words for one VM, and for the number of such VMs. */
const NEED_LABELS: Record<PlannedNeed, [one: string, all: string]> = {
  Change: ['change', 'to change'],
  ChangeAndRestart: ['change, restart', 'to change and restart'],
  ChangeAndWait: ['change, restart by its owner', 'to change and be restarted by their owners'],
  Restart: ['restart', 'to restart'],
  Wait: ['restart by its owner', 'to be restarted by their owners'],
  Pool: ['rolled by its pool', 'rolled by their pools'],
  Deferred: ['deferred', 'deferred'],
  Excluded: ['excluded', 'excluded'],
};
const STYLES: Partial<Record<PlannedNeed, Style>> = { Deferred: 'yellow', Excluded: 'gray' };

/** Prints what a transition would do. Throws a `Failure` for each reason why it would be refused. */
export async function printPlan(plan: TransitionPlanned, output?: PlanFormat): Promise<void> {
  if (output === 'json' || output === 'yaml') await printData(plan, output);
  else print(planLines(plan, { wide: output === 'wide' }));
  for (const line of plan.unknown) printNote(plain(line));
  if (plan.refusals.length > 0)
    throw new AggregateError(plan.refusals.map((sentence) => new Failure(plain(`it would be refused: ${sentence}`))));
}

/** A table of what matches, and the totals. */
export function planLines(plan: TransitionPlanned, { wide }: { wide: boolean }): string[] {
  const headers = ['NAMESPACE', 'NAME', 'TYPE', ...(wide ? ['VMI TYPE', 'POOL'] : []), 'RESULT', 'NEEDS'];
  return [
    ...table(
      headers,
      plan.items.map((item) => cellsOf(item, wide)),
    ),
    '',
    ...totalLines(plan),
  ];
}

function cellsOf(item: PlannedItem, wide: boolean): Cell[] {
  const { namespace, name, type, vmiType, pool, result } = item;
  // A VM whose alias stays is listed because of its VMI's type: show that type as well.
  const own = type ?? '<none>';
  const shown = wide || vmiType === null || vmiType === type || result !== type ? own : `${own} (${vmiType})`;
  return [
    namespace,
    name,
    shown,
    ...(wide ? [vmiType ?? '<none>', pool ?? '<none>'] : []),
    resultOf(item),
    needsOf(item),
  ];
}

const resultOf = ({ result }: PlannedItem): Cell => (result === null ? '<default>' : result || '<none>');

function needsOf({ need, pool, message }: PlannedItem): Cell {
  const [label] = NEED_LABELS[need];
  const text = `${label}${need === 'Pool' && pool !== null ? ` ${pool}` : ''}${message === null ? '' : `: ${message}`}`;
  const style = STYLES[need];
  return style === undefined ? text : { text, style };
}

/** How many VMs need what, and what their pools do. */
function totalLines(plan: TransitionPlanned): string[] {
  const { items, counts, maxRestarts } = plan;
  const parts = (Object.keys(NEED_LABELS) as PlannedNeed[]).flatMap((need) =>
    counts[need] === undefined ? [] : [`${counts[need]} ${NEED_LABELS[need][1]}`],
  );
  const restarts = (counts.Restart ?? 0) + (counts.ChangeAndRestart ?? 0);
  const pace = restarts === 0 ? '' : `; ${maxRestarts} restarted at a time`;
  return [plain(`${formatVms(items.length)}: ${parts.join(', ')}${pace}`), ...poolLines(plan)];
}

/** What may restart VMs in addition, whatever the transition asks for; one line, or none without pools. */
export function poolLines({ items }: Pick<TransitionPlanned, 'items'>): string[] {
  const pools = new Set(
    items.filter(({ need }) => need === 'Pool').map(({ namespace, pool }) => `${namespace}/${pool}`),
  );
  if (pools.size === 0) return [];
  return [
    plain(
      `A pool changes its VMs by its own update strategy, within its own budget, and may restart them: ${formatNames([...pools])}`,
    ),
  ];
}

/** VMs that are deferred or excluded, one line per reason. */
export function skippedLines({ items }: Pick<TransitionPlanned, 'items'>): string[] {
  const skipped = items.filter(({ need }) => need === 'Deferred' || need === 'Excluded');
  const groups = Map.groupBy(skipped, ({ need, message }) => `${NEED_LABELS[need][0]}\n${message}`);
  return [...groups].map(([key, ofOne]) => {
    const [label, message] = key.split('\n') as [string, string];
    return plain(`${label}: ${formatNames(ofOne.map(({ namespace, name }) => `${namespace}/${name}`))}: ${message}`);
  });
}
