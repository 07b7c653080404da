import { Command } from 'commander';
import type { Act } from '../../decisions/history/act.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { PoolRef } from '../../workflows/lib/ids.ts';
import type { DataFormat } from '../cli/data.ts';
import { UsageError } from '../cli/failure.ts';
import { kindArguments, ownerKindOf, OWNERS, Pools, Vms, type Kind, type OwnerKind } from '../cli/kinds.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { examples, formatOption } from '../cli/options.ts';
import { parsePositiveDuration } from '../cli/parse-values.ts';
import { note, print } from '../cli/print.ts';
import { namedTargetsOf } from '../cli/targets.ts';
import type { Revision } from '../rollout/revisions.ts';
import { inSession, type Session } from '../session/session.ts';
import { workersIn } from '../session/workers-in.ts';

interface HistoryOptions {
  vm?: string;
  output?: DataFormat;
  /** Milliseconds. */
  since?: number;
}

export const historyCommand = (): Command =>
  new Command('history')
    .description(
      'what drover has done to the VMs of a pool or replica set, or to a VM of any owner (restarts, machine type transitions, and what its pool or set did to it), ' +
        'as far back as it is on record: when, from what to what, who asked, how it ended',
    )
    .argument('<kind>', `${kindArguments([...OWNERS, Vms])}, or KIND/NAME`)
    .argument('[names...]')
    .option('--vm <name>', 'only what was done to this VM')
    .option(
      '--since <duration>',
      'only what was in progress or ended within this time, such as 30m or 2d',
      parsePositiveDuration,
    )
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['Everything that was done to the VMs of a pool', 'drover history pool web'],
        ['What happened to one of them', 'drover history pool web --vm web-3'],
        ['Which VMs of a replica set came and went', 'drover history vmrs runners'],
        ['Who has restarted a VM, or changed its machine type', 'drover history vm db-1'],
        ['What was done since yesterday', 'drover history pool web --since 1d'],
        ['What went wrong', 'drover history pool web -o json | jq \'.[] | select(.end == "Failed")\''],
      ),
    )
    .action((word: string, words: string[], options: HistoryOptions, command: Command) =>
      inSession(command, (session) => history(session, [word, ...words], options)),
    );

/** Shows the history of a pool, replica set or VM, which may be deleted. */
async function history(session: Session, words: string[], { vm, output, since }: HistoryOptions): Promise<void> {
  const { kind, names } = namedTargetsOf(words, [...OWNERS, Vms]);
  const owner = ownerKindOf(kind.resource.kind);
  if (names.length > 1) throw new UsageError(`${names.join(' ')}: one ${kind.words[0]} at a time`);
  if (owner === undefined && vm !== undefined)
    throw new UsageError('--vm chooses among the VMs of a pool or replica set');
  const [
    { readActs, readActsOfVm },
    { withQueued },
    { aboutVm, actionsTable, grouped },
    { printData },
    { remarkOnCluster },
  ] = await Promise.all([
    import('../history/read.ts'),
    import('../history/queued.ts'),
    import('../history/table.ts'),
    import('../cli/data.ts'),
    import('../session/unknown-cluster.ts'),
  ]);
  const name = names[0]!;
  const namespace = await session.namespace();
  const ref = { cluster: await workersIn(session, namespace), namespace, name };
  const reading = {
    revisionsOf: (pool: string) => revisionsOf(session, pool),
    since: since === undefined ? null : Date.now() - since,
  };
  const told = await (
    owner === undefined ? readActsOfVm(session, ref, reading) : readActs(session, owner, ref, reading)
  ).catch((error: unknown) => withoutTemporal(session, owner ?? kind, ref, { error, since: reading.since }));
  const all = await withQueued(await session.kube(), ref.namespace, told);
  const actions = grouped(vm === undefined ? all : aboutVm(all, vm));
  if (actions.length === 0) await remarkOnCluster(session, ref.cluster);
  if (output !== undefined) return printData(actions, output);
  if (actions.length > 0) return print(actionsTable(actions, owner?.members.noun ?? 'VM').join('\n'));
  // Throws if there is no such object either, because the name was mistyped.
  await ofKnownKind(kind.resource, (await session.kube()).get(kind.resource, { namespace: ref.namespace, name }));
  const whose = owner === undefined ? `vm ${name}` : (vm ?? `${owner.members.noun}s of ${owner.noun} ${name}`);
  const from = reading.since === null ? '' : ` since ${new Date(reading.since).toISOString().slice(0, 19)}Z`;
  note(`nothing is on record that was done to ${whose}${from}`);
}

/** Returns what the cluster alone tells, and says so. Throws `error` again if Temporal does answer. */
async function withoutTemporal(
  session: Session,
  kind: Kind | OwnerKind,
  { namespace, name }: PoolRef,
  { error, since }: { error: unknown; since: number | null },
): Promise<Act[]> {
  const [{ TemporalUnreachable }, { actsInCluster }, { inOrder }] = await Promise.all([
    import('../session/temporal.ts'),
    import('../history/from-cluster.ts'),
    import('../history/read.ts'),
  ]);
  if (!(error instanceof TemporalUnreachable)) throw error;
  note(`${error.message}; this is what the cluster alone shows: Events, operations, and templates that are kept`);
  const isMember = (vm: string): boolean => ('hasNamed' in kind ? kind.hasNamed(name, vm) : vm === name);
  const revisions = kind === Pools ? await revisionsOf(session, name) : [];
  const subject = { resource: kind.resource, namespace, name, isMember };
  return inOrder(await actsInCluster(await session.kube(), subject, revisions), { since });
}

/** Returns [] if the pool is deleted or the user may not read it: the history is useful even without revisions. */
async function revisionsOf(session: Session, name: string): Promise<Revision[]> {
  const { readRevisions } = await import('../rollout/revisions.ts');
  const kube = await session.kube();
  const key = { namespace: await session.namespace(), name };
  return kube
    .get<Pool>(Pools.resource, key)
    .then((pool) => readRevisions(kube, pool))
    .catch(() => []);
}
