import { Command } from 'commander';
import { examples, withManifests, type ManifestOptions } from '../cli/options.ts';
import { note, print } from '../cli/output.ts';
import { labelOf } from '../cli/targets.ts';
import { inSession, type Session } from '../session/session.ts';

export const diffCommand = (): Command =>
  withManifests(new Command('diff'))
    .description('what `drover apply` would change, and what that would do to VMs; nothing is written')
    .addHelpText('after', examples(['Before a change', 'drover diff -f pool.yaml && drover apply -f pool.yaml']))
    .action((options: ManifestOptions, command: Command) => inSession(command, (session) => diff(session, options)));

async function diff(session: Session, options: ManifestOptions): Promise<void> {
  const [{ readPlan }, { rehearse }, { specDiff }, outlook] = await Promise.all([
    import('../apply/plan.ts'),
    import('../apply/apply.ts'),
    import('../rollout/revisions/diff.ts'),
    import('../apply/outlook.ts'),
  ]);
  const { planned, notes } = await readPlan(session, options);
  for (const line of notes) note(line);
  const kube = await session.kube();
  // `force` avoids conflicts with fields that somebody else has set: a comparison writes nothing.
  const rehearsed = await rehearse(planned, { kube, force: true, keepReplicas: false, checksVms: true });
  for (const { kind, object, before, after } of rehearsed) {
    const label = labelOf(kind.resource, object.metadata.name);
    const lines = specDiff(label, before, after);
    if (lines.length === 0) note(`${label} unchanged`);
    else print(lines.join('\n'));
    if (before === undefined) continue;
    for (const line of await outlook.formatChange(kube, kind, before, after)) print(line);
    const halt = outlook.formatHalt(kind, after);
    if (halt !== undefined) note(halt);
  }
}
