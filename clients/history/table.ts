import type { MemberKind } from '../../api/owner-kinds.ts';
import type { Act } from '../../decisions/history/act.ts';
import { ACT_ENDS, type ActEndName } from '../../decisions/history/ends.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { table, type Cell, type Style } from '../cli/print.ts';

/** Merges actions that differ only in their VMs. */
export function grouped(actions: Act[]): Act[] {
  const groups = Map.groupBy(actions, ({ vms, ...rest }) => (vms.length === 0 ? rest : JSON.stringify(rest)));
  return [...groups.values()].map((group) => ({ ...group[0]!, vms: group.flatMap(({ vms }) => vms) }));
}

/** What was done to one VM. */
export const aboutVm = (actions: Act[], vm: string): Act[] =>
  actions.filter(({ vms }) => vms.includes(vm)).map((action) => ({ ...action, vms: [vm] }));

const STYLES = { well: 'green', bad: 'red', skipped: 'yellow', open: 'yellow' } as const satisfies Record<
  string,
  Style
>;

/** An older release may have recorded other words. */
const styleOf = (end: ActEndName): Style =>
  STYLES[(ACT_ENDS[end] as (typeof ACT_ENDS)[ActEndName] | undefined)?.is ?? 'open'];

/** `members`: what the actions were done to, as sentences call one. */
export function actionsTable(actions: Act[], members: MemberKind['noun']): string[] {
  const rows = actions.map(({ time, action, vms, from, to, requestedBy, end, message, reason }): Cell[] => [
    `${time.slice(0, 19)}Z`,
    action,
    vms.length === 0 ? '<pool>' : formatNames(vms),
    from ?? '<none>',
    to ?? '<none>',
    requestedBy ?? '<unknown>',
    { text: end, style: styleOf(end) },
    message ?? causeIn(reason),
  ]);
  return table(['TIME', 'ACTION', `${members}S`, 'FROM', 'TO', 'REQUESTED BY', 'END', 'WHY'], rows);
}

/** The cause at the end of a reason: the other columns say the rest. */
export function causeIn(reason: string | null): string {
  const at = reason?.indexOf(': ') ?? -1;
  return at === -1 ? '' : reason!.slice(at + 2);
}
