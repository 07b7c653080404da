import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPrograms } from '../deploy/build.ts';

/** Paths of what the image holds, bundled. */
export interface Programs {
  worker: string;
  command: string;
  workflows: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Only for tests on servers; others run what a clone holds. */
    programs: Programs | undefined;
  }
}

/**
 * Bundles the worker, the command and the workflows once for all tests on servers, as the image has them: these tests
 * start hundreds of both, and a bundle starts with a third of the CPU.
 */
export default async function bundleFirst(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-programs-'));
  await buildPrograms(folder, { worker: 'workers/main.ts', drover: 'clients/drover.ts' });
  project.provide('programs', {
    worker: join(folder, 'worker.mjs'),
    command: join(folder, 'drover.mjs'),
    workflows: join(folder, 'workflows.js'),
  });
  return () => rmSync(folder, { recursive: true, force: true });
}
