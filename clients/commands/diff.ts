import { Command } from 'commander';
import type { ApplyOptions, Planned, Rehearsed } from '../apply/apply.ts';
import { Failure, FailureBesides, sentenceOf, throwAll } from '../cli/failure.ts';
import { examples, withManifests, type ManifestOptions } from '../cli/options.ts';
import { note, print } from '../cli/print.ts';
import { labelOf } from '../cli/targets.ts';
import { inSession, type Session } from '../session/session.ts';

interface DiffOptions extends ManifestOptions {
  forceConflicts?: boolean;
  keepReplicas?: boolean;
  exitCode?: boolean;
}

export const diffCommand = (): Command =>
  withManifests(new Command('diff'))
    .description('what `drover apply` would change, and what that would do to VMs; nothing is written')
    .option('--force-conflicts', 'as for apply: take over fields that other field managers have set')
    .option('--keep-replicas', 'as for apply: keep the number of replicas that something else has set')
    .option('--exit-code', 'exit with 1 if there is a difference, with 0 if there is none, and with 2 after an error')
    .addHelpText(
      'after',
      examples(
        ['Before a change', 'drover diff -f pool.yaml && drover apply -f pool.yaml'],
        ['In CI: does the cluster have what is in Git?', 'drover diff -f pools/ -R --exit-code'],
      ),
    )
    .action((options: DiffOptions, command: Command) =>
      inSession(command, async (session) => {
        if (options.exitCode !== true) return void (await diff(session, options));
        const differs = await diff(session, options).catch((error: unknown) => {
          throw new FailureBesides(error);
        });
        if (differs) throw new Failure('the cluster differs from the manifests');
      }),
    );

/** Prints the differences, and reports whether there are any. Throws what `drover apply` would be refused for. */
async function diff(session: Session, options: DiffOptions): Promise<boolean> {
  const [{ readPlan }, { specDiff }, outlook] = await Promise.all([
    import('../apply/plan.ts'),
    import('../rollout/diff.ts'),
    import('../apply/format-change.ts'),
  ]);
  const { planned, notes } = await readPlan(session, options);
  for (const line of notes) note(line);
  const kube = await session.kube();
  const { rehearsed, refused } = await compared(planned, {
    kube,
    force: options.forceConflicts === true,
    keepReplicas: options.keepReplicas === true,
    checksVms: true,
  });
  let differs = false;
  for (const { kind, object, before, after } of rehearsed) {
    const label = labelOf(kind.resource, object.metadata.name);
    const lines = specDiff(label, before, after);
    differs ||= lines.length > 0;
    if (lines.length === 0) note(`${label} unchanged`);
    else print(lines.join('\n'));
    if (before === undefined) continue;
    for (const line of await outlook.formatChange(kube, kind, before, after)) print(line);
    for (const line of outlook.formatHalts(kind, after)) note(line);
  }
  throwAll(refused);
  return differs;
}

/**
 * Rehearses each object as `drover apply` would. One that `apply` would not take over from other field managers is
 * compared all the same, and refused at the end.
 */
async function compared(
  planned: Planned[],
  choices: ApplyOptions,
): Promise<{ rehearsed: Rehearsed[]; refused: Failure[] }> {
  const { rehearse } = await import('../apply/apply.ts');
  const forced = await rehearse(planned, { ...choices, force: true });
  const tries = await Promise.allSettled(planned.map((each) => rehearse([each], { ...choices, checksVms: false })));
  const refused = tries.flatMap((tried) =>
    tried.status === 'rejected'
      ? [new Failure(`\`drover apply\` would refuse this: ${sentenceOf(tried.reason)}`, { cause: tried.reason })]
      : [],
  );
  const rehearsed = tries.map((tried, index) => (tried.status === 'fulfilled' ? tried.value[0]! : forced[index]!));
  return { rehearsed, refused };
}
