import { REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { UsageError } from '../cli/failure.ts';
import type { Kind } from '../cli/kinds.ts';
import { type ManifestOptions } from '../cli/options.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import type { Session, Work } from '../session/session.ts';
import { missingWorkers } from '../session/workers.ts';
import { applyOne, dryRunAll, isOfOwner, type Accepted, type ApplyOptions as Choices } from './apply.ts';
import { budgetOutlook } from './budget-outlook.ts';
import { formatChange, formatHalts, formatUnexpected } from './format-change.ts';
import { readPlan } from './plan.ts';
import { waitUntilReady } from './wait.ts';

interface ApplyFlags extends ManifestOptions {
  forceConflicts?: boolean;
  vmCheck: boolean;
  wait: boolean;
  timeout?: number;
  dryRun: DryRun;
}

/** Creates or updates what manifests say, and nothing if one of them is invalid. */
export const applyManifests: Work<ApplyFlags> = async (session, options) => {
  if (options.timeout !== undefined && !options.wait)
    throw new UsageError('--timeout is how long --wait waits: give both, or neither');
  if (options.wait && options.dryRun !== 'none')
    throw new UsageError('--wait waits for what was applied, and --dry-run applies nothing: leave out one of them');
  const { planned, notes } = await readPlan(session, options);
  for (const line of notes) printNote(line);
  if (options.dryRun === 'client') {
    for (const { kind, object } of planned)
      print(`${labelOf(kind.resource, object.metadata.name)} would be applied (dry run)`);
    return;
  }
  const choices = {
    kube: await session.kube(),
    force: options.forceConflicts === true,
    checksVms: options.vmCheck,
  };
  const accepted = await dryRunAll(planned, choices);
  const applied = [];
  for (const each of accepted) applied.push(await applyEach(each, choices, options.dryRun));
  if (options.dryRun !== 'server') await warnOfMissingWorkers(session, accepted);
  if (!options.wait) return;
  await waitUntilReady(choices.kube, applied, options.timeout);
};

/** Applies one object, unless this is a dry run, and prints the outcome. */
async function applyEach(each: Accepted, choices: Choices, dryRun: DryRun): Promise<{ kind: Kind; owner: Stored }> {
  const isDry = dryRun === 'server';
  // A worker makes a template that returns the newest revision as soon as it is applied.
  const lines = await outlook(each, choices.kube, isDry);
  const { outcome, isGoing, after } = isDry ? each : await applyOne(each, choices);
  const { name } = each.object.metadata;
  const title = `${each.kind.noun} ${name}`;
  print(`${labelOf(each.kind.resource, name)} ${outcome}${dryRunSuffix(dryRun)}`);
  if (each.unchecked !== undefined)
    printNote(`${title}: KubeVirt was not asked whether it accepts the template: ${each.unchecked}`);
  for (const line of lines) printNote(line);
  if (isDry && each.requestedBy !== undefined)
    printNote(`${title}: ${REQUESTED_BY_ANNOTATION} would be ${each.requestedBy}`);
  if (isGoing)
    printNote(`${title} is being deleted, and what was applied goes with it: apply it again when it is gone`);
  return { kind: each.kind, owner: after };
}

/**
 * Says what the change would do to the members of an existing object, or does that nobody may expect; and that its
 * template's rollout is halted or paused: users would wait for ever for what is not rolled out.
 */
async function outlook(accepted: Accepted, kube: KubeClient, isDry: boolean): Promise<string[]> {
  if (!isOfOwner(accepted)) return budgetOutlook(kube, accepted);
  const { kind, before, after } = accepted;
  if (before === undefined) return [];
  const change = await (isDry ? formatChange : formatUnexpected)(kube, kind, before, after);
  return [...change, ...formatHalts(kind, after)];
}

/** Notes missing workers. Applying needs none, but nothing happens without one, and no other line would say why. */
async function warnOfMissingWorkers(session: Session, accepted: readonly Accepted[]): Promise<void> {
  if (!(await session.knowsTemporal())) return;
  const namespaces = new Set(accepted.map(({ after }) => after.metadata.namespace));
  const missing = await Promise.all([...namespaces].map((namespace) => missingWorkers(session, namespace)));
  for (const note of new Set(missing)) if (note !== undefined) printNote(note);
}
