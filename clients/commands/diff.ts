import { Command } from 'commander';
import { UsageError } from '../failure.ts';
import { examples } from '../options.ts';
import { note, print } from '../output.ts';
import { inSession, type Session } from '../session.ts';
import { labelOf } from '../targets.ts';

interface DiffOptions {
  filename?: string[];
  recursive?: boolean;
}

export const diffCommand = (): Command =>
  new Command('diff')
    .description('what `drover apply` would change, and what that would do to VMs; nothing is written')
    .option(
      '-f, --filename <path>',
      'a file, a folder, or - for standard input; may be given again',
      (path, before: string[] | undefined) => [...(before ?? []), path],
    )
    .option('-R, --recursive', 'look into the folders below a folder, too')
    .addHelpText('after', examples(['Before a change', 'drover diff -f pool.yaml && drover apply -f pool.yaml']))
    .action((options: DiffOptions, command: Command) => inSession(command, (session) => diff(session, options)));

async function diff(session: Session, { filename, recursive }: DiffOptions): Promise<void> {
  if (filename === undefined) throw new UsageError('which manifests? Give -f FILE, a folder, or -');
  const [{ readManifestFiles }, { planOf }, { rehearse }, { poolDiff }, outlook] = await Promise.all([
    import('../manifests.ts'),
    import('../apply-plan.ts'),
    import('../apply.ts'),
    import('../rollout/diff.ts'),
    import('../rollout/outlook.ts'),
  ]);
  const files = await readManifestFiles(filename, recursive === true);
  const { planned, notes } = planOf(files, { given: session.globals.namespace, byDefault: await session.namespace() });
  for (const line of notes) note(line);
  const kube = await session.kube();
  // What somebody else has set would be taken over: a comparison writes nothing.
  const rehearsed = await rehearse(planned, { kube, force: true, keepReplicas: false, checksVms: true });
  for (const { resource, object, before, after } of rehearsed) {
    const label = labelOf(resource, object.metadata.name);
    const lines = poolDiff(label, before, after);
    if (lines.length === 0) note(`${label} unchanged`);
    else print(lines.join('\n'));
    if (before === undefined) continue;
    for (const line of await outlook.changeInWords(kube, before, after)) print(line);
    const halt = outlook.haltInWords(after);
    if (halt !== undefined) note(halt);
  }
}
