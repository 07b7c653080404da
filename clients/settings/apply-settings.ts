import type { Command } from 'commander';
import { settingsPath } from '../../workers/settings/settings-path.ts';

/** Returns the flags that were typed, with their values, by their long names. */
export function flagsOf(command: Command): Map<string, string> {
  const flags = new Map<string, string>();
  for (let taker: Command | null = command; taker !== null; taker = taker.parent)
    for (const option of taker.options) {
      const name = option.attributeName();
      if (option.long != null && taker.getOptionValueSource(name) === 'cli')
        flags.set(option.long, String(taker.getOptionValue(name)));
    }
  return flags;
}

const before = new WeakMap<Command, NodeJS.ProcessEnv>();

/** Returns the environment as it was before the settings file was put into it for this command. */
export const environmentBefore = (command: Command): NodeJS.ProcessEnv => before.get(command) ?? process.env;

/**
 * Puts what the settings file says into the environment of this process, unless a variable is set, and into flags that
 * have a variable. Throws `ManifestErrors` for a settings file that can't be used.
 */
export async function applySettings(command: Command): Promise<void> {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  if (settingsPath(process.env, config) === undefined) return;
  const { gatherSettings } = await import('../../workers/settings/gather.ts');
  const now = { ...process.env };
  const { env } = gatherSettings({ env: now, config });
  before.set(command, now);
  for (const [variable, text] of Object.entries(env))
    if (text !== undefined && now[variable] !== text) setVariable(command, variable, text);
}

function setVariable(command: Command, variable: string, text: string): void {
  process.env[variable] = text;
  for (let taker: Command | null = command; taker !== null; taker = taker.parent)
    for (const option of taker.options) {
      if (option.envVar !== variable || taker.getOptionValueSource(option.attributeName()) === 'cli') continue;
      const value: unknown = option.parseArg === undefined ? text : option.parseArg(text, undefined as never);
      taker.setOptionValueWithSource(option.attributeName(), value, 'env');
    }
}
