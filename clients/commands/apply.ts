import { Command, Option } from 'commander';
import { REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { ApplyOptions as Choices, Rehearsed } from '../apply/apply.ts';
import { UsageError } from '../cli/failure.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import { examples, dryRunOption, dryRunRemark, withManifests, type ManifestOptions } from '../cli/options.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import { parseDuration, parseBoolean, type DryRun } from '../cli/parse-values.ts';
import { note, print } from '../cli/print.ts';
import { labelOf } from '../cli/targets.ts';
import { inSession, type Session } from '../session/session.ts';

interface ApplyOptions extends ManifestOptions {
  forceConflicts?: boolean;
  keepReplicas?: boolean;
  vmCheck: boolean;
  wait: boolean;
  timeout?: number;
  dryRun: DryRun;
}

export const applyCommand = (): Command =>
  withManifests(new Command('apply'))
    .description('create or update pools and replica sets from manifests; applies nothing if one of them is invalid')
    .option('--force-conflicts', 'take over fields that other field managers have set')
    .option('--keep-replicas', 'keep the current number of replicas if something else has scaled the pool or set')
    .option('--no-vm-check', 'skip the server-side dry run of a VM from the template')
    .addOption(
      new Option('--wait [boolean]', 'wait until all VMs are updated and available')
        .argParser(parseBoolean)
        .default(false),
    )
    .option('--timeout <duration>', 'how long --wait waits, such as 90s or 5m (default: no limit)', parseDuration)
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['A pool from a file', 'drover apply -f pool.yaml'],
        ['A pool, and wait until all its VMs run it', 'drover apply -f pool.yaml --wait --timeout 10m'],
        ['What the server would say, without a change', 'drover apply -f pools/ -R --dry-run'],
        ['A new template for a pool that an autoscaler scales', 'drover apply -f pool.yaml --keep-replicas'],
      ),
    )
    .action((options: ApplyOptions, command: Command) => inSession(command, (session) => apply(session, options)));

async function apply(session: Session, options: ApplyOptions): Promise<void> {
  if (options.timeout !== undefined && !options.wait)
    throw new UsageError('--timeout is how long --wait waits: give both, or neither');
  if (options.wait && options.dryRun !== 'none')
    throw new UsageError('--wait waits for what was applied, and --dry-run applies nothing: leave out one of them');
  const [{ readPlan }, { rehearse }] = await Promise.all([import('../apply/plan.ts'), import('../apply/apply.ts')]);
  const { planned, notes } = await readPlan(session, options);
  for (const line of notes) note(line);
  if (options.dryRun === 'client') {
    for (const { kind, object } of planned)
      print(`${labelOf(kind.resource, object.metadata.name)} would be applied (dry run)`);
    return;
  }
  const choices = {
    kube: await session.kube(),
    force: options.forceConflicts === true,
    keepReplicas: options.keepReplicas === true,
    checksVms: options.vmCheck,
  };
  const rehearsed = await rehearse(planned, choices);
  const { collisions } = await import('../disks/collisions.ts');
  const pools = rehearsed.flatMap(({ kind, after }) => (isPool(kind, after) ? [after] : []));
  for (const line of await collisions(choices.kube, pools)) note(line);
  const { missingReferences } = await import('../apply/missing-references.ts');
  for (const line of await missingReferences(choices.kube, pools)) note(line);
  const applied = [];
  for (const each of rehearsed) applied.push(await applyEach(each, choices, options.dryRun));
  if (options.dryRun !== 'server') await remarkOnWorkers(session);
  if (!options.wait) return;
  const { waitUntilReady } = await import('../apply/wait.ts');
  await waitUntilReady(choices.kube, applied, options.timeout);
}

/** Applies one object, unless that is rehearsed alone, and says what there is to say of it. */
async function applyEach(
  each: Rehearsed,
  choices: Choices,
  dryRun: DryRun,
): Promise<{ kind: OwnerKind; owner: Stored<Owner> }> {
  const { applyOne } = await import('../apply/apply.ts');
  const isDry = dryRun === 'server';
  const { outcome, isGoing, after } = isDry ? each : await applyOne(each, choices);
  const { name } = each.object.metadata;
  const title = `${each.kind.noun} ${name}`;
  print(`${labelOf(each.kind.resource, name)} ${outcome}${dryRunRemark(dryRun)}`);
  if (each.unchecked !== undefined)
    note(`${title}: KubeVirt was not asked whether it accepts the template: ${each.unchecked}`);
  for (const line of await outlook(each, choices.kube, isDry)) note(line);
  for (const line of await haltsOf(each)) note(line);
  if (isDry && each.requestedBy !== undefined)
    note(`${title}: ${REQUESTED_BY_ANNOTATION} would be ${each.requestedBy}`);
  if (isGoing) note(`${title} is being deleted, and what was applied goes with it: apply it again when it is gone`);
  return { kind: each.kind, owner: after };
}

/** Says what the change would do to the members of an existing object, or does that nobody may expect. */
async function outlook({ kind, before, after }: Rehearsed, kube: KubeClient, isDry: boolean): Promise<string[]> {
  if (before === undefined) return [];
  const { formatChange, formatDrainChange } = await import('../apply/format-change.ts');
  return await (isDry ? formatChange : formatDrainChange)(kube, kind, before, after);
}

/** Says that the template's rollout is halted or paused: users would wait for ever for what is not rolled out. */
async function haltsOf({ kind, before, after }: Rehearsed): Promise<string[]> {
  if (before === undefined) return [];
  const { formatHalts } = await import('../apply/format-change.ts');
  return formatHalts(kind, after);
}

/** Notes missing workers. Applying needs none, but without one all stays as it is, and nothing else would say so. */
async function remarkOnWorkers(session: Session): Promise<void> {
  if (!(await session.knowsTemporal())) return;
  const { missingWorkers } = await import('../session/missing-workers.ts');
  const missing = await missingWorkers(session);
  if (missing !== undefined) note(missing);
}
