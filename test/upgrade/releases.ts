import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { inject } from 'vitest';
import { releasedIn } from '../../deploy/release/freeze.ts';
import { workflowsPath } from '../../workers/workflows-path.ts';

const project = resolve(import.meta.dirname, '../..');

/** What a worker of a release runs. */
export interface Release {
  /** What was built. */
  of: string;
  /** The program, with its arguments. */
  program: readonly string[];
  /** Path of its workflows. */
  workflows: string;
  /** Its `drover setup`, if it was built; otherwise that of today's code has to do. */
  setup?: readonly string[];
}

/**
 * Builds the newest release from its tag; in a clone that lacks the tag, today's code, which still differs from
 * `nextRelease`.
 */
export function previousRelease(folder: string): Release {
  const [newest] = Object.keys(releasedIn(project)).toReversed();
  const ref = `v${newest}`;
  const { status } = spawnSync('git', ['-C', project, 'cat-file', '-e', `${ref}^{commit}`], { stdio: 'ignore' });
  if (status !== 0) {
    const { worker, workflows } = inject('programs')!;
    return { of: `today's code, since this clone has no ${ref}`, program: [worker], workflows };
  }
  const [source, built] = [join(folder, 'source'), join(folder, 'built')];
  for (const one of [source, built]) mkdirSync(one, { recursive: true });
  const archive = execFileSync('git', ['-C', project, 'archive', ref], { maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', source], { input: archive });
  symlinkSync(join(project, 'node_modules'), join(source, 'node_modules'));
  execFileSync(process.execPath, [join(source, 'deploy/build.ts'), built], { stdio: ['ignore', 'ignore', 'inherit'] });
  const drover = join(built, 'drover.mjs');
  return { of: ref, program: [drover, 'worker'], setup: [drover, 'setup'], workflows: join(built, 'workflows.js') };
}

/** Builds today's worker with workflows that are changed by a module of `changes/`. */
export async function nextRelease(folder: string, change: 'patched' | 'unpatched'): Promise<Release> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules: [join(import.meta.dirname, `changes/${change}.ts`)],
    logger: new DefaultLogger('WARN'),
  });
  const workflows = join(folder, `${change}.js`);
  writeFileSync(workflows, code);
  return { of: change, program: [inject('programs')!.worker], workflows };
}
