import { Failure, FailureBesides } from '../cli/failure.ts';
import type { ManifestOptions } from '../cli/options.ts';
import { printNote, print, labelOf } from '../cli/print.ts';
import { specDiff } from '../rollout/diff.ts';
import type { Session, Work } from '../session/session.ts';
import { dryRunAll, isOfOwner } from './apply.ts';
import { formatChange, formatHalts } from './format-change.ts';
import { readPlan } from './plan.ts';

interface DiffFlags extends ManifestOptions {
  forceConflicts?: boolean;
  exitCode?: boolean;
}

/** Prints what an apply would change; with `exitCode`, throws `Failure` if it would change anything. */
export const diffManifests: Work<DiffFlags> = async (session, flags) => {
  if (flags.exitCode !== true) return void (await diff(session, flags));
  const differs = await diff(session, flags).catch((error: unknown) => {
    throw new FailureBesides(error);
  });
  if (differs) throw new Failure('the cluster differs from the manifests');
};

/** Prints the differences, and reports whether there are any. Throws what `drover apply` would be refused for. */
async function diff(session: Session, options: DiffFlags): Promise<boolean> {
  const { planned, notes } = await readPlan(session, options);
  for (const line of notes) printNote(line);
  const kube = await session.kube();
  const accepted = await dryRunAll(planned, { kube, force: options.forceConflicts === true, checksVms: true });
  let differs = false;
  for (const each of accepted) {
    const { kind, object, before, after } = each;
    const label = labelOf(kind.resource, object.metadata.name);
    const lines = specDiff(label, before, after);
    differs ||= lines.length > 0;
    if (lines.length === 0) printNote(`${label} unchanged`);
    else print(lines);
    if (!isOfOwner(each) || each.before === undefined) continue;
    for (const line of await formatChange(kube, each.kind, each.before, each.after)) print(line);
    for (const line of formatHalts(each.kind, each.after)) printNote(line);
  }
  return differs;
}
