import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { versionIn, type Buildable } from '../../dev/tools/catalog.ts';
import { givenPath, isProgram } from '../../dev/tools/find-tool.ts';
import { goBuild } from '../../dev/tools/go-build.ts';
import { inWords, madeOnce, type MakeOptions } from '../../dev/tools/made-once.ts';

const MODULE = fileURLToPath(new URL('promtool', import.meta.url));

/** Without the services that Prometheus discovers targets in, which are a third of the build. */
function promtool(): Buildable {
  const version = versionIn(MODULE, 'github.com/prometheus/prometheus');
  return {
    name: 'promtool',
    version,
    variable: 'DROVER_PROMTOOL',
    build: {
      module: MODULE,
      package: 'github.com/prometheus/prometheus/cmd/promtool',
      ldflags: '-s -w',
      tags: 'remove_all_sd',
    },
  };
}

/**
 * Returns the path of Prometheus' `promtool`: the one in the environment, else the one in the cache, which is first
 * built if it is missing. Throws an error whose message says what to do.
 */
export async function resolvePromtool(options: MakeOptions & { cache: string }): Promise<string> {
  const tool = promtool();
  const given = givenPath(tool, process.env);
  if (given !== undefined) return given;
  const folder = join(options.cache, 'tools');
  const target = join(folder, `${tool.name}-${tool.version}-${process.platform}-${process.arch}`, tool.name);
  if (isProgram(target)) return target;
  try {
    mkdirSync(folder, { recursive: true });
    return await madeOnce(target, options, (program) => goBuild(tool, program, { ...options, env: process.env }));
  } catch (error) {
    throw inWords(error, options.cache);
  }
}
