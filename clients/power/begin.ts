import type { IntOrPercent } from '../../api/lib/int-or-percent.ts';
import type { AnyOperation } from '../../api/operations/operation.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import { isAboutVmi } from '../../decisions/power/target.ts';
import { formatPace } from '../../decisions/runs/report.ts';
import { UsageError } from '../cli/failure.ts';
import { printNote, print, dryRunSuffix } from '../cli/print.ts';
import { vmNamesOf } from '../cli/targets.ts';
import { makeAndFollow, operationFor, selectionOf, type MakingFlags } from '../operations/make.ts';
import { scopeOf } from '../operations/read-vms.ts';
import { checkWhen, makeOne } from '../schedules/make.ts';
import type { Session, Work } from '../session/session.ts';
import { checkedOwner, choose, formatExcluded, type Choice, type ChosenVms } from './choose.ts';

interface PowerOptions extends MakingFlags, Choice {
  atOnce: IntOrPercent;
  maxUnavailable: IntOrPercent;
  schedule?: string;
  timeZone?: string;
  name?: string;
}

/** Returns what a command does: it has VMs started, stopped, restarted or migrated, now or by a schedule. */
export const beginsPower =
  (action: PowerAction): Work<PowerOptions> =>
  (session, options, ...names) =>
    isScheduled(options) ? makeSchedule(session, action, names, options) : begin(session, action, names, options);

async function begin(session: Session, action: PowerAction, names: string[], options: PowerOptions): Promise<void> {
  const { dryRun } = options;
  const chosen = await choose(session, action, names, options);
  const { verb, done } = ACTION_LABELS[action];
  for (const name of chosen.idle)
    printNote(`vm ${name} ${action === 'Start' ? 'runs already' : 'does not run'}: nothing to ${verb}`);
  if (chosen.excluded.length > 0) printNote(formatExcluded(chosen.excluded, verb));
  if (chosen.vms.length === 0) return printNote(`nothing to ${verb}`);
  const what = formatPace(chosen.vms.length, limitOf(action, options));
  const printDryRun = (): void => {
    for (const { vm, message } of chosen.vms)
      print(`${vm} would be ${done.toLowerCase()}${message === null ? '' : `: ${message}`}`);
    print(`${what}${dryRunSuffix(dryRun)}`);
  };
  if (dryRun === 'client') return printDryRun();
  const operation = await operationOf(session, action, chosen, options);
  await makeAndFollow(session, { operation, what, printDryRun }, options);
}

const limitOf = (action: PowerAction, { maxUnavailable, atOnce }: PowerOptions): IntOrPercent =>
  isAboutVmi(action) ? maxUnavailable : atOnce;

const operationOf = async (
  session: Session,
  action: PowerAction,
  { names, owner }: Pick<ChosenVms, 'names' | 'owner'>,
  options: PowerOptions,
): Promise<AnyOperation> =>
  operationFor(session, {
    ...options,
    namespace: (await scopeOf(session, options)).namespace,
    action,
    vms: selectionOf({ ...options, names, owner }),
    atOnce: limitOf(action, options),
  });

/** Throws `UsageError` for what goes with `--schedule` alone. */
function isScheduled(options: PowerOptions): options is PowerOptions & { schedule: string } {
  const { schedule, timeZone, name } = options;
  if (schedule !== undefined) return true;
  if (timeZone !== undefined) throw new UsageError('--time-zone needs --schedule');
  if (name !== undefined) throw new UsageError('--name needs --schedule');
  return false;
}

/** Its VMs are chosen anew each time, so that it does not matter which there are now. */
async function makeSchedule(
  session: Session,
  action: PowerAction,
  args: string[],
  options: PowerOptions & { schedule: string },
): Promise<void> {
  const { schedule, timeZone, name, allNamespaces } = options;
  if (allNamespaces === true) throw new UsageError('a schedule is for the VMs of one namespace: give -n instead of -A');
  const when = { schedule, timeZone };
  checkWhen(when);
  const owner = checkedOwner(action, args, options);
  const names = args.length === 0 ? [] : vmNamesOf(args);
  await makeOne(session, await operationOf(session, action, { names, owner }, options), { when, name }, options);
}
