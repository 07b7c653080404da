import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Where a machine keeps the settings that all its users share. */
const OF_THE_MACHINE = '/etc/drover/config.yaml';

/**
 * Returns the path of the settings file: the given one, `$DROVER_CONFIG`, or the first that exists of
 * `drover/config.yaml` in `$XDG_CONFIG_HOME` or `~/.config`, and `/etc/drover/config.yaml`. Undefined without any.
 */
export function settingsPath(env: NodeJS.ProcessEnv, given?: string): string | undefined {
  const named = given || env['DROVER_CONFIG'];
  if (named) return resolve(named);
  const folder = env['XDG_CONFIG_HOME'] || (env['HOME'] && join(env['HOME'], '.config'));
  return [...(folder ? [join(folder, 'drover', 'config.yaml')] : []), OF_THE_MACHINE].find((path) => existsSync(path));
}
