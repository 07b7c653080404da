import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPrograms } from '../deploy/build.ts';

/** Paths of what the image holds, and of the simulator, bundled. */
export interface Programs {
  worker: string;
  command: string;
  simulator: string;
  workflows: string;
  /** Environment in which they find what Node has compiled of them. */
  env: { NODE_COMPILE_CACHE: string };
}

const FOLDER = 'DROVER_TEST_PROGRAMS';

declare module 'vitest' {
  interface ProvidedContext {
    /** Only for tests on servers; others run what a clone holds. */
    programs: Programs | undefined;
  }
}

const programsIn = (folder: string): Programs => ({
  worker: join(folder, 'worker.mjs'),
  command: join(folder, 'drover.mjs'),
  simulator: join(folder, 'simulator.mjs'),
  workflows: join(folder, 'workflows.js'),
  env: { NODE_COMPILE_CACHE: join(folder, 'compiled') },
});

/**
 * Has Node compile the program before the tests, most of which kill it before it could keep what it has compiled: a
 * start takes an eighth less CPU then.
 */
function compile(program: string, { env }: Programs): Promise<void> {
  const nowhere = { ...env, KUBECONFIG: '/dev/null/kubeconfig' };
  // Without servers and arguments, it ends with an error when it has loaded.
  return new Promise((resolve) => execFile(process.execPath, [program], { env: nowhere }, () => resolve()));
}

/**
 * Bundles programs and the workflows once for all tests on servers, as the image has them: these tests start hundreds
 * of programs, and a bundle starts with a third of the CPU. A run of tests within a test takes those of the outer run.
 */
export async function providePrograms(project: TestProject): Promise<{ programs: Programs; remove: () => void }> {
  const given = process.env[FOLDER];
  const folder = given ?? mkdtempSync(join(tmpdir(), 'drover-programs-'));
  const programs = programsIn(folder);
  if (given === undefined) {
    const modules = { worker: 'workers/main.ts', drover: 'clients/drover.ts', simulator: 'simulator/main.ts' };
    await buildPrograms(folder, modules);
    await Promise.all([programs.worker, programs.command, programs.simulator].map((one) => compile(one, programs)));
    // For runs of tests that tests start.
    process.env[FOLDER] = folder;
  }
  project.provide('programs', programs);
  const remove = (): void => {
    if (given === undefined) rmSync(folder, { recursive: true, force: true });
  };
  return { programs, remove };
}

/** For runs of tests without servers of their own. */
export default async (project: TestProject): Promise<() => void> => (await providePrograms(project)).remove;
