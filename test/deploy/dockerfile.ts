import { readFileSync } from 'node:fs';

/** One instruction: its name in capitals, and the rest of its line, continuations joined. */
interface Instruction {
  name: string;
  rest: string;
}

/** A Dockerfile's instructions from one FROM to before the next. */
export interface Stage {
  image: string;
  name: string | undefined;
  instructions: Instruction[];
}

const project = new URL('../../', import.meta.url);

export function readStages(): Stage[] {
  const text = readFileSync(new URL('Dockerfile', project), 'utf8');
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Stage[] = [];
  for (const line of lines) {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const [image = '', , stage] = rest.split(/\s+/).filter((word) => !word.startsWith('--'));
    if (name === 'FROM') stages.push({ image, name: stage, instructions: [] });
    else stages.at(-1)!.instructions.push({ name, rest });
  }
  return stages;
}

/** Returns the arguments of the last instruction of this name in the final stage. */
export const lastOf = (name: string): string =>
  readStages()
    .at(-1)!
    .instructions.findLast((one) => one.name === name)!.rest;

/** Returns the variables that the image sets. */
export const imageEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    lastOf('ENV')
      .split(/\s+/)
      .map((pair) => pair.split('=') as [string, string]),
  );

/**
 * Returns a predicate: whether .dockerignore lets a file of the project into the build. As in Docker, the last matching
 * rule decides.
 */
export function dockerIgnore(): (path: string) => boolean {
  const text = readFileSync(new URL('.dockerignore', project), 'utf8');
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const beyond = rules.find((rule) => rule !== '*' && /[*?[]/.test(rule));
  if (beyond !== undefined) throw new Error(`.dockerignore: "${beyond}" is more than this test understands`);
  return (path) => rules.findLast((rule) => fits(path, rule.replace(/^!/, '')))?.startsWith('!') ?? true;
}

const fits = (path: string, rule: string): boolean => rule === '*' || path === rule || path.startsWith(`${rule}/`);
