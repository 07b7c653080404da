import { Command, Option } from 'commander';
import { countOf, type IntOrPercent } from '../../../api/lib/int-or-percent.ts';
import type { AnyOperation } from '../../../api/operations/operation.ts';
import { ACTION_LABELS, type PowerAction } from '../../../decisions/power/action.ts';
import { isAboutVmi } from '../../../decisions/power/target.ts';
import { formatVms } from '../../../decisions/runs/report.ts';
import { UsageError } from '../../cli/failure.ts';
import { dryRunRemark, examples } from '../../cli/options.ts';
import { parseCountOrPercent } from '../../cli/parse-values.ts';
import { note, print } from '../../cli/print.ts';
import type { MakingFlags } from '../../operations/make.ts';
import type { ChosenVms } from '../../power/choose.ts';
import { inSession, type Session } from '../../session/session.ts';
import { atOnceOption, withMaking } from '../operations/making.ts';

interface PowerOptions extends MakingFlags {
  pending?: boolean;
  outdated?: boolean;
  allNamespaces?: boolean;
  selector?: string;
  pool?: string;
  owner?: string;
  atOnce: IntOrPercent;
  maxUnavailable: IntOrPercent;
  schedule?: string;
  timeZone?: string;
  name?: string;
}

export const startVmsCommand = (): Command =>
  powerCommand('Start', {
    description: 'start VMs of any owner, a few at a time, so that they do not boot all at once',
    limit: atOnceOption('starting', 10),
    deadline: 'how long a VM may take to be ready, and how long one that still stops is waited for',
    examples: [
      ['Some VMs of a pool', 'drover vm start --pool web -l tier=spare'],
      ['Three VMs, one after the other', 'drover vm start db-1 db-2 db-3 --at-once 1'],
      ['What would that do?', 'drover vm start --owner vmrs/runners --dry-run'],
    ],
  });

export const stopVmsCommand = (): Command =>
  powerCommand('Stop', {
    description: 'stop VMs of any owner in an orderly way; they stay stopped through updates until a user starts them',
    limit: atOnceOption('stopping', '100%'),
    deadline: 'how long a VM may take to stop, and how long one that is paused or migrates is waited for',
    examples: [
      ['Some VMs of a pool', 'drover vm stop --pool web -l tier=spare --reason "end of the sale"'],
      ['All VMs of a project, everywhere', 'drover vm stop -A -l project=moon'],
      ['What would that do?', 'drover vm stop --pool web --dry-run'],
      ['Each working day', 'drover vm stop -l office=yes --schedule "0 20 * * 1-5" --time-zone Europe/Zurich'],
    ],
  });

export const restartVmsCommand = (): Command =>
  powerCommand('Restart', {
    description:
      'restart VMs of any owner within a budget; the next goes down only when the last is seen to be ready again',
    limit: new Option(
      '--max-unavailable <n>',
      'how many of them, or how many percent, may be not ready at once, whatever the cause; at least 1',
    )
      .argParser(parseCountOrPercent)
      .default('5%'),
    deadline: 'how long a VM may take to be ready again, and how long one that is paused or migrates is waited for',
    examples: [
      [
        'All that wait for a restart, one in twenty at a time',
        'drover vm restart --pending -A --reason "new machine type"',
      ],
      ['What would that do?', 'drover vm restart --pending -A --dry-run'],
      ['Some VMs of a pool', 'drover vm restart --pool web -l tier=spare'],
      ['Some VMs, one after the other', 'drover vm restart db-1 db-2 db-3 --max-unavailable 1'],
      ['Begin, and look at it later', 'drover vm restart --pending --no-wait && drover vm runs'],
    ],
  }).option('--pending', 'only VMs that wait for a restart, as `drover vm pending` lists them');

export const migrateVmsCommand = (): Command =>
  powerCommand('Migrate', {
    description:
      'live-migrate VMs of any owner within a budget, such as off pods of an earlier KubeVirt; the next only when the last is ready',
    limit: new Option(
      '--max-unavailable <n>',
      'how many of them, or how many percent, may migrate or be not ready at once; at least 1',
    )
      .argParser(parseCountOrPercent)
      .default(2),
    deadline:
      'how long a VM may take to be migrated, and how long one that is paused or migrates already is waited for',
    examples: [
      ['All that run in a pod of an earlier KubeVirt', 'drover vm migrate --outdated -A --reason "KubeVirt 1.8"'],
      ['What would that do?', 'drover vm migrate --outdated -A --dry-run'],
      ['The VMs of a pool, one after the other', 'drover vm migrate --pool web --max-unavailable 1'],
    ],
  }).option('--outdated', 'only VMs that run in a pod of an earlier KubeVirt, as KubeVirt labels their VMIs');

interface PowerCommand {
  description: string;
  limit: Option;
  /** Describes `--deadline`. */
  deadline: string;
  examples: [what: string, command: string][];
}

function powerCommand(action: PowerAction, { description, limit, deadline, examples: shown }: PowerCommand): Command {
  const { verb, done } = ACTION_LABELS[action];
  const command = new Command(verb)
    .description(description)
    .argument('[names...]')
    .option('-l, --selector <selector>', 'VMs with these labels, such as app=web,tier!=db')
    .option('--pool <name>', 'VMs that this pool owns')
    .option('--owner <kind/name>', 'VMs that this pool or replica set owns, such as vmrs/runners')
    .option('-A, --all-namespaces', 'in all namespaces: one operation, with one limit over all of them')
    .addOption(limit)
    .option('--schedule <cron>', `${verb} them again and again: minute, hour, day of month, month, day of week`)
    .option('--time-zone <zone>', 'of --schedule, such as Europe/Zurich; UTC by default')
    .option('--name <name>', 'of the schedule; by default, one is made up');
  return withMaking(command, { deadline, verb, done: done.toLowerCase() })
    .addHelpText('after', examples(...shown))
    .action((names: string[], options: PowerOptions, command: Command) =>
      inSession(command, (session) => begin(session, action, names, options)),
    );
}

async function begin(session: Session, action: PowerAction, names: string[], options: PowerOptions): Promise<void> {
  const { pending = false, outdated = false, allNamespaces = false, selector, pool, owner, dryRun } = options;
  if (isScheduled(options)) return makeSchedule(session, action, names, options);
  const { choose, formatApart } = await import('../../power/choose.ts');
  const chosen = await choose(session, action, names, { pending, outdated, allNamespaces, selector, pool, owner });
  const { verb, done } = ACTION_LABELS[action];
  for (const name of chosen.idle)
    note(`vm ${name} ${action === 'Start' ? 'runs already' : 'does not run'}: nothing to ${verb}`);
  if (chosen.apart.length > 0) note(formatApart(chosen.apart, verb));
  if (chosen.vms.length === 0) return note(`nothing to ${verb}`);
  const count = chosen.vms.length;
  const limit = limitOf(action, options);
  const atOnce = Math.min(countOf(limit, count, 1), count);
  const what = `${formatVms(count)}, ${atOnce} at a time`;
  const tellDryRun = (): void => {
    for (const { vm, why } of chosen.vms)
      print(`${vm} would be ${done.toLowerCase()}${why === null ? '' : `: ${why}`}`);
    print(`${what}${dryRunRemark(dryRun)}`);
  };
  if (dryRun === 'client') return tellDryRun();
  const operation = await operationOf(session, action, chosen, options);
  const { makeAndFollow } = await import('../../operations/make.ts');
  await makeAndFollow(session, { operation, what, tellDryRun }, options);
}

const limitOf = (action: PowerAction, { maxUnavailable, atOnce }: PowerOptions): IntOrPercent =>
  isAboutVmi(action) ? maxUnavailable : atOnce;

async function operationOf(
  session: Session,
  action: PowerAction,
  { names, owner }: Pick<ChosenVms, 'names' | 'owner'>,
  options: PowerOptions,
): Promise<AnyOperation> {
  const {
    allNamespaces = false,
    maxFailures,
    window,
    deadline: deadlineMs,
    reason,
    pending = false,
    outdated = false,
    selector,
  } = options;
  const atOnce = limitOf(action, options);
  const [{ operationFor }, { usernameIn }] = await Promise.all([
    import('../../operations/make.ts'),
    import('../../session/requester.ts'),
  ]);
  const requestedBy = await usernameIn(() => session.kube());
  const asked = {
    action,
    maxFailures,
    window,
    atOnce,
    deadlineMs,
    pending,
    outdated,
    selector,
    owner,
    requestedBy,
    names,
    ...(reason === undefined ? {} : { reason }),
  };
  return operationFor(allNamespaces ? undefined : await session.namespace(), asked);
}

/** Throws `UsageError` for what goes with `--schedule` alone. */
function isScheduled(options: PowerOptions): options is PowerOptions & { schedule: string } {
  const { schedule, timeZone, name } = options;
  if (schedule !== undefined) return true;
  if (timeZone !== undefined) throw new UsageError('--time-zone goes with --schedule');
  if (name !== undefined) throw new UsageError('--name goes with --schedule');
  return false;
}

/** Its VMs are chosen anew each time, so that it does not matter which there are now. */
async function makeSchedule(
  session: Session,
  action: PowerAction,
  words: string[],
  options: PowerOptions & { schedule: string },
): Promise<void> {
  const { schedule, timeZone, name, pending = false, outdated = false, allNamespaces = false } = options;
  const [{ checkedOwner }, { vmNamesOf }, { checkWhen, makeOne }] = await Promise.all([
    import('../../power/choose.ts'),
    import('../../cli/targets.ts'),
    import('../../schedules/make.ts'),
  ]);
  if (allNamespaces) throw new UsageError('a schedule is for the VMs of one namespace: give -n instead of -A');
  const when = { schedule, timeZone };
  checkWhen(when);
  const { selector, pool, owner } = options;
  const of = checkedOwner(action, words, { pending, outdated, allNamespaces, selector, pool, owner });
  const names = words.length === 0 ? [] : vmNamesOf(words);
  await makeOne(session, await operationOf(session, action, { names, owner: of }, options), { when, name }, options);
}
