import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { build, type OutputChunk } from 'rolldown';
import { failureConverterPath, workflowsPath } from '../workers/workflows-path.ts';
import { writePage } from './package/page.ts';

const project = resolve(import.meta.dirname, '..');

/**
 * Temporal's packages have a native core and find their own files by path, so they stay as npm installed them.
 * protobufjs holds the registry that they share with drover's data converter.
 */
const NOT_BUNDLED = [/^@temporalio\//, /^protobufjs/];

/** The workflows of workers whose payloads are encoded leave no text of an error readable. */
const WORKFLOWS = { 'workflows.js': {}, 'workflows-with-codecs.js': { failureConverterPath } };

const OF_THE_IMAGE = { drover: 'clients/drover.ts', healthcheck: 'workers/healthcheck.ts' };

/**
 * Writes programs into `folder`, each as `<name>.mjs`, `workflows.js` for DROVER_WORKFLOW_BUNDLE with what workers with
 * codecs need beside it, and the page of the dashboard. `programs`: modules by name; those of the image by default.
 * Outside the project, `node_modules` is linked into `folder`, for the packages that are not bundled.
 *
 * The modules of a worker take 74 MiB less when they are bundled, and load in a third of the time:
 * `@kubernetes/client-node` alone brings a class for every Kubernetes kind, of which drover needs none.
 */
export async function buildPrograms(folder: string, programs: Record<string, string> = OF_THE_IMAGE): Promise<void> {
  await bundle(folder, { ...programs, 'failure-converter': 'workers/failure-converter.ts' }, NOT_BUNDLED);
  for (const [file, options] of Object.entries(WORKFLOWS)) {
    const { code } = await bundleWorkflowCode({ workflowsPath, ...options, logger: new DefaultLogger('WARN') });
    writeFileSync(join(folder, file), code);
  }
  writePage(join(folder, 'dashboard'));
  const packages = join(folder, 'node_modules');
  if (relative(project, folder).startsWith('..') && !existsSync(packages)) {
    symlinkSync(join(project, 'node_modules'), packages);
  }
}

/** Bundles programs and all that they import except `external` into `folder`, and returns what was written. */
export async function bundle(
  folder: string,
  programs: Record<string, string>,
  external: RegExp[],
  target?: string,
): Promise<OutputChunk[]> {
  const { output } = await build({
    cwd: project,
    input: programs,
    platform: 'node',
    external,
    treeshake: {
      // When loaded, client-node's models only set their own fields.
      moduleSideEffects: (id) => !id.includes('@kubernetes/client-node'),
    },
    ...(target === undefined ? {} : { transform: { target } }),
    logLevel: 'warn',
    output: { dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: 'chunks/[name]-[hash].mjs' },
  });
  return output.filter((part) => part.type === 'chunk');
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined) throw new Error('node deploy/build.ts FOLDER');
  await buildPrograms(folder);
}
