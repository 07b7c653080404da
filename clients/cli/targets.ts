import { closest } from '../../api/closest.ts';
import { PersistentVolumeClaims, VirtualMachinePools, VirtualMachines, type Resource } from '../../api/resources.ts';
import { UsageError } from './failure.ts';

/** A kind that commands take, with the words that people may use for it. */
export interface Kind {
  resource: Resource;
  words: string[];
}

const wordsOf = ({ kind, plural, group }: Resource, ...short: string[]): string[] => {
  const singular = kind.toLowerCase();
  return [...short, singular, plural, `${singular}.${group}`, `${plural}.${group}`];
};

export const Pools: Kind = {
  resource: VirtualMachinePools,
  words: wordsOf(VirtualMachinePools, 'pool', 'pools', 'dpool', 'dpools'),
};
export const Vms: Kind = { resource: VirtualMachines, words: wordsOf(VirtualMachines, 'vm', 'vms') };

/** Claims that VMs have left to the next VMs with their numbers. */
export const Disks: Kind = { resource: PersistentVolumeClaims, words: ['disk', 'disks'] };

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export interface Targets {
  kind: Kind;
  names: string[];
}

/** Parses `pool web`, `pools`, or `pool/web pool/db`. Throws `UsageError`. */
export function targetsOf(words: string[], kinds: Kind[]): Targets {
  const slashed = words.filter((word) => word.includes('/'));
  if (slashed.length > 0) {
    if (slashed.length < words.length)
      throw new UsageError(`${words.join(' ')}: give either KIND/NAME throughout, or KIND NAME`);
    const pairs = words.map((word) => {
      const at = word.indexOf('/');
      return { kind: kindOf(word.slice(0, at), kinds), name: checkName(word.slice(at + 1)) };
    });
    const { kind } = pairs[0]!;
    if (pairs.some((pair) => pair.kind !== kind))
      throw new UsageError(`${words.join(' ')}: one command takes one kind`);
    return { kind, names: pairs.map(({ name }) => name) };
  }
  const [word, ...names] = words;
  if (word === undefined) throw new UsageError(`which kind? One of: ${kinds.map((kind) => kind.words[0]).join(', ')}`);
  return { kind: kindOf(word, kinds), names: names.map(checkName) };
}

function kindOf(word: string, kinds: Kind[]): Kind {
  const kind = kinds.find(({ words }) => words.includes(word.toLowerCase()));
  if (kind !== undefined) return kind;
  const meant =
    closest(
      word,
      kinds.flatMap(({ words }) => words),
    ) ?? kinds.map(({ words }) => words[0]).join(' or ');
  throw new UsageError(`"${word}" is no kind that this command takes; did you mean ${meant}?`);
}

function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(`"${name}" is no name of an object: those have a-z, 0-9, - and . in them`);
}

/** Like `targetsOf`, for commands that need names. Throws `UsageError`. */
export function namedTargetsOf(words: string[], kinds: Kind[]): Targets {
  const targets = targetsOf(words, kinds);
  if (targets.names.length === 0) throw new UsageError(`which ${targets.kind.words[0]}? Give its name`);
  return targets;
}

/** Returns for example `virtualmachinepool.drover.dev/web`, as kubectl names an object in its answers. */
export const labelOf = (resource: Resource, name: string): string =>
  `${resource.kind.toLowerCase()}${resource.group === '' ? '' : `.${resource.group}`}/${name}`;
