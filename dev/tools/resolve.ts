import { chmodSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { catalog, type Tool, type ToolName } from './catalog.ts';
import { findOnPath, givenPath, isProgram, isSuitable } from './find-tool.ts';
import { goBuild, type BuildContext } from './go-build.ts';
import { readableError, madeOnce } from './made-once.ts';
import { PublishedBinaries } from './published.ts';
import { SOURCES, type Sources } from './release-archives.ts';

interface ResolveOptions extends Omit<BuildContext, 'env'> {
  /** Folder of files kept between runs. */
  cache: string;
  env?: NodeJS.ProcessEnv;
  tools?: Record<ToolName, Tool>;
}

/** What each step of the search needs. */
interface Search extends BuildContext {
  cache: string;
  /** Undefined if downloads are disabled. */
  published: PublishedBinaries | undefined;
}

/**
 * Returns the path of each tool: the one in the environment, else one of a suitable version on PATH, else the one in
 * the cache. Tools that are still missing are put into the cache, from the project's release if the network allows it,
 * else by a Go build. Throws an error whose message says what to do.
 */
export async function resolveTools(options: ResolveOptions): Promise<Record<ToolName, string>> {
  const { env = process.env, tools = catalog() } = options;
  const folder = join(options.cache, 'tools');
  const found: Partial<Record<ToolName, string>> = {};
  const missing: Tool[] = [];
  for (const tool of Object.values(tools)) {
    const path = givenPath(tool, env) ?? (await findOnPath(tool, env)) ?? cachedPath(tool, folder);
    if (isProgram(path)) found[tool.name] = path;
    else missing.push(tool);
  }
  if (missing.length > 0) Object.assign(found, await make(missing, folder, { ...options, env }));
  return found as Record<ToolName, string>;
}

/** One folder per version, so that a new version is downloaded or built again. */
const cachedPath = (tool: Tool, folder: string): string =>
  join(folder, `${tool.name}-${tool.version}-${process.platform}-${process.arch}`, tool.name);

async function make(
  tools: Tool[],
  folder: string,
  options: ResolveOptions & { env: NodeJS.ProcessEnv },
): Promise<Partial<Record<ToolName, string>>> {
  const made: Partial<Record<ToolName, string>> = {};
  let published: PublishedBinaries | undefined;
  try {
    mkdirSync(folder, { recursive: true });
    const sources = sourcesIn(options.env);
    if (sources !== undefined)
      published = new PublishedBinaries({ sources, folder, onProgress: options.onProgress, signal: options.signal });
    for (const tool of tools)
      made[tool.name] = await madeOnce(cachedPath(tool, folder), options, (program) =>
        put(tool, program, { ...options, published }),
      );
    return made;
  } catch (error) {
    throw readableError(error, options.cache);
  } finally {
    await published?.dispose();
  }
}

/** `DROVER_DOWNLOADS=no` disables downloads except by Go; the other variables name mirrors. */
function sourcesIn(env: NodeJS.ProcessEnv): Sources | undefined {
  if (env['DROVER_DOWNLOADS'] === 'no') return undefined;
  return {
    temporal: env['DROVER_TEMPORAL_RELEASES'] || SOURCES.temporal,
    envtest: env['DROVER_ENVTEST_INDEX'] || SOURCES.envtest,
  };
}

async function put(tool: Tool, program: string, search: Search): Promise<void> {
  if (!(await fetched(tool, program, search))) await goBuild(tool, program, search);
}

/**
 * A release may need another C library, or have been damaged before its checksum was made, so it must run here first.
 */
async function fetched(tool: Tool, program: string, { published, onProgress }: Search): Promise<boolean> {
  const file = await published?.fetch(tool);
  if (file === undefined) return false;
  renameSync(file, program);
  chmodSync(program, 0o755);
  if (await isSuitable(tool, program)) return true;
  onProgress(`the published ${tool.name} does not run here`);
  rmSync(program);
  return false;
}
