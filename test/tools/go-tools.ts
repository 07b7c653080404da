import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { versionIn, type Buildable } from '../../dev/tools/catalog.ts';
import { givenPath, isProgram } from '../../dev/tools/find-tool.ts';
import { goBuild } from '../../dev/tools/go-build.ts';
import { readableError, madeOnce, type MakeOptions } from '../../dev/tools/made-once.ts';

/** Programs that only tests need. A folder of the same name has the go.mod that pins each. */
const TOOLS = {
  helm: { module: 'helm.sh/helm/v4', package: 'cmd/helm' },
  helm3: { module: 'helm.sh/helm/v3', package: 'cmd/helm' },
  // Without the services that it discovers targets in, which are a third of the build, and without its user interface.
  prometheus: {
    module: 'github.com/prometheus/prometheus',
    package: 'cmd/prometheus',
    beside: 'promtool',
    tags: 'remove_all_sd',
  },
  // Pushes images, and is the registry that they go to.
  crane: { module: 'github.com/google/go-containerregistry', package: 'cmd/crane' },
  cosign: { module: 'github.com/sigstore/cosign/v3', package: 'cmd/cosign' },
} as const satisfies Record<string, Made>;

interface Made {
  module: string;
  package: string;
  /** Another program of the module, which is built with it. */
  beside?: string;
  tags?: string;
}

type GoTool = keyof typeof TOOLS;

/** Those that this run needs: only a soak run has the Helm of before, and only the test of a release the last two. */
export const GO_TOOLS = (Object.keys(TOOLS) as GoTool[]).filter((name) =>
  name === 'helm3'
    ? process.env['DROVER_TEST_SOAK'] !== undefined
    : !(['crane', 'cosign'].includes(name) && process.env['DROVER_TEST_SHORT'] !== undefined),
);

function buildable(name: GoTool): Buildable {
  const { module, package: path, beside, ...tags }: Made = TOOLS[name];
  const folder = fileURLToPath(new URL(name, import.meta.url));
  return {
    name,
    version: versionIn(folder, module),
    variable: `DROVER_${name.toUpperCase()}`,
    build: {
      module: folder,
      package: `${module}/${path}`,
      ...(beside && { beside: [`${module}/cmd/${beside}`] }),
      ldflags: '-s -w',
      ...tags,
    },
  };
}

/**
 * Returns the path of a program: the one in the environment, else the one in the cache, which is first built if it is
 * missing. Throws an error whose message says what to do.
 */
export async function resolveGoTool(name: GoTool, options: MakeOptions & { cache: string }): Promise<string> {
  const tool = buildable(name);
  const given = givenPath(tool, process.env);
  if (given !== undefined) return given;
  const folder = join(options.cache, 'tools');
  const target = join(folder, `${tool.name}-${tool.version}-${process.platform}-${process.arch}`, tool.name);
  if (isProgram(target)) return target;
  try {
    mkdirSync(folder, { recursive: true });
    return await madeOnce(target, options, (program) => goBuild(tool, program, { ...options, env: process.env }));
  } catch (error) {
    throw readableError(error, options.cache);
  }
}

/** Returns the path of promtool, which is built beside Prometheus. */
export const resolvePromtool = async (options: Parameters<typeof resolveGoTool>[1]): Promise<string> =>
  join(dirname(await resolveGoTool('prometheus', options)), 'promtool');
