import { closest } from '../../api/lib/closest.ts';
import { UsageError } from './failure.ts';
import { aNoun, kindArguments, KINDS, Pools, Vms, type Kind, type OwnerKind } from './kinds.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

interface Targets<K extends Kind = Kind> {
  kind: K;
  names: string[];
}

/** Parses `pool web`, `pools`, or `pool/web pool/db`. Throws `UsageError`. */
export function targetsOf<K extends Kind>(args: readonly string[], kinds: readonly K[]): Targets<K> {
  const slashed = args.filter((arg) => arg.includes('/'));
  if (slashed.length > 0) {
    if (slashed.length < args.length)
      throw new UsageError(`${args.join(' ')}: give either KIND/NAME throughout, or KIND NAME`);
    const pairs = args.map((arg) => {
      const at = arg.indexOf('/');
      return { kind: kindOf(arg.slice(0, at), kinds, true), name: checkName(arg.slice(at + 1)) };
    });
    const { kind } = pairs[0]!;
    if (pairs.some((pair) => pair.kind !== kind)) throw new UsageError(`${args.join(' ')}: one command takes one kind`);
    return { kind, names: pairs.map(({ name }) => name) };
  }
  const [arg, ...names] = args;
  if (arg === undefined) throw new UsageError(`which kind? Give ${kindArguments(kinds)}`);
  return { kind: kindOf(arg, kinds), names: names.map(checkName) };
}

/** `isBeforeSlash`: it may be meant as a namespace, which drover itself writes so. */
function kindOf<K extends Kind>(arg: string, kinds: readonly K[], isBeforeSlash = false): K {
  const meant = <T extends Kind>(among: readonly T[]): T[] =>
    among.filter(({ aliases }) => aliases.includes(arg.toLowerCase()));
  const [kind, ...others] = meant(kinds);
  if (kind !== undefined && others.length === 0) return kind;
  if (kind !== undefined)
    throw new UsageError(`"${arg}" may mean ${kindArguments([kind, ...others])}: give one of them`);
  const [other] = meant(KINDS);
  if (other !== undefined)
    throw new UsageError(`"${arg}" is ${aNoun(other)}, and this command takes ${kindArguments(kinds)}`);
  const right = closest(
    arg,
    kinds.flatMap(({ aliases }) => aliases),
  );
  const more = isBeforeSlash ? 'a namespace by -n' : 'then a name';
  const cure = right === undefined ? `: give ${kindArguments(kinds)}, and ${more}` : `; did you mean ${right}?`;
  throw new UsageError(`"${arg}" is not a kind that this command takes${cure}`);
}

function checkName(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(`"${name}" is not a valid object name: use lower-case letters, digits, "-" and "."`);
}

/** Like `targetsOf`, for commands that need names. Throws `UsageError`. */
export function namedTargetsOf<K extends Kind>(args: readonly string[], kinds: readonly K[]): Targets<K> {
  const targets = targetsOf(args, kinds);
  if (targets.names.length === 0) throw new UsageError(`which ${targets.kind.aliases[0]}? Give its name`);
  return targets;
}

/** Like `namedTargetsOf`, for commands that take one object. Throws `UsageError`. */
export function oneTargetOf<K extends Kind>(args: readonly string[], kinds: readonly K[]): { kind: K; name: string } {
  const { kind, names } = namedTargetsOf(args, kinds);
  if (names.length > 1) throw new UsageError(`${names.join(' ')}: one ${kind.aliases[0]} at a time`);
  return { kind, name: names[0]! };
}

/**
 * Parses names of VMs: `web-3`, `vm/web-3`, or `vm web-3`, each name once. A VM that is named as a kind is `vm/pool`.
 * Throws `UsageError` if there are none.
 */
export function vmNamesOf(args: readonly string[]): string[] {
  const isKind = args.length > 1 && KINDS.some((kind) => kind.aliases.includes(args[0]!.toLowerCase()));
  const [kind, ...behind] = isKind ? args : [Vms.aliases[0]!, ...args];
  const names = behind.map((arg) => (arg.includes('/') ? namedTargetsOf([arg], [Vms]).names[0]! : arg));
  return [...new Set(namedTargetsOf([kind!, ...names], [Vms]).names)];
}

/** Parses `pool web web-3 web-7`, or `pool/web web-3 web-7`; there may be no VMs. Throws `UsageError`. */
export function poolAndVms(args: readonly string[]): { pool: string; vms: string[] } {
  const behind = args[0]!.includes('/') ? 1 : 2;
  const [pool = ''] = namedTargetsOf(args.slice(0, behind), [Pools]).names;
  const rest = args.slice(behind);
  return { pool, vms: rest.length === 0 ? [] : vmNamesOf(rest) };
}

/** The options that pick VMs by their owner. */
export interface OwnerOptions {
  pool?: string | undefined;
  owner?: string | undefined;
}

export interface NamedOwner {
  kind: OwnerKind;
  name: string;
}

/** Returns the pool or set that `--pool` or `--owner` names, if any. Throws `UsageError`. */
export function ownerOf(
  { pool, owner, allNamespaces }: OwnerOptions & { allNamespaces?: boolean | undefined },
  kinds: readonly OwnerKind[],
): NamedOwner | undefined {
  if (pool !== undefined && owner !== undefined) throw new UsageError('give --pool or --owner, not both');
  const named = pool === undefined ? namedBy(owner, kinds) : { kind: Pools, name: checkName(pool) };
  if (named !== undefined && allNamespaces === true)
    throw new UsageError(`${aNoun(named.kind)} is looked for in one namespace: leave out -A or its name`);
  return named;
}

function namedBy(owner: string | undefined, kinds: readonly OwnerKind[]): NamedOwner | undefined {
  if (owner === undefined) return undefined;
  if (!owner.includes('/')) throw new UsageError(`--owner: "${owner}" is not KIND/NAME, such as vmrs/runners`);
  const { kind, names } = targetsOf([owner], kinds);
  return { kind, name: names[0]! };
}
