import type { SearchAttributeType } from '@temporalio/common';
import { searchAttributes } from '../../workflows/lib/search-attributes.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';
import { lookUntil } from '../cli/watch-until.ts';
import { GrpcCode, grpcCodeOf, type Temporal } from '../session/temporal.ts';

const USABLE_TIMEOUT_MS = 60_000;
const POLL_MS = 250;

/** The numbers of the types in Temporal's API: `temporal.api.enums.v1.IndexedValueType`. */
const INDEXED_VALUE_TYPES: Record<SearchAttributeType, number> = {
  TEXT: 1,
  KEYWORD: 2,
  INT: 3,
  DOUBLE: 4,
  BOOL: 5,
  DATETIME: 6,
  KEYWORD_LIST: 7,
};

type SearchAttribute = (typeof searchAttributes)[number];

/**
 * Returns drover's search attributes that Temporal's namespace lacks. Throws `Failure` if it has one with another type.
 */
export async function missingSearchAttributes(temporal: Temporal): Promise<SearchAttribute[]> {
  const known = await knownTypes(temporal);
  return searchAttributes.filter(({ name, type }) => {
    const wanted = INDEXED_VALUE_TYPES[type];
    if (known[name] === undefined || known[name] === wanted) return known[name] === undefined;
    throw new Failure(
      `search attribute ${name} is in Temporal's namespace ${temporal.namespace} with another type than ${type}: ` +
        'rename it with `temporal operator search-attribute rename`, or give drover its own namespace',
    );
  });
}

/** Registers the missing search attributes, and waits until Temporal accepts queries with all that drover needs. */
export async function registerSearchAttributes(temporal: Temporal, missing: SearchAttribute[]): Promise<void> {
  if (missing.length > 0) await add(temporal, missing);
  await untilUsable(temporal);
}

async function knownTypes({ connection, namespace, address }: Temporal): Promise<Record<string, number>> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return customAttributes ?? {};
  } catch (error) {
    if (grpcCodeOf(error) !== GrpcCode.NOT_FOUND) throw refused(error, 'read the search attributes');
    throw new Failure(
      `Temporal at ${address} has no namespace ${namespace}: create it with ` +
        `\`temporal operator namespace create --namespace ${namespace}\`, or give another with --temporal-namespace`,
      { cause: error },
    );
  }
}

async function add(temporal: Temporal, missing: SearchAttribute[]): Promise<void> {
  const { connection, namespace } = temporal;
  const types = missing.map(({ name, type }) => [name, INDEXED_VALUE_TYPES[type]] as const);
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(types) });
  } catch (error) {
    // Another setup ran at the same time.
    if (grpcCodeOf(error) === GrpcCode.ALREADY_EXISTS) return;
    if (LIMIT_REACHED.test(sentenceOf(error))) throw await limitReached(temporal, missing, error);
    throw refused(error, 'register search attributes');
  }
}

const LIMIT_REACHED = /more than (\d+) search attributes? of type (\w+)/i;

/** Temporal has registered none: it looks for room for all of them first. */
async function limitReached(temporal: Temporal, missing: SearchAttribute[], cause: unknown): Promise<Failure> {
  const [, most = '', typeName = ''] = LIMIT_REACHED.exec(sentenceOf(cause)) ?? [];
  const isOfType = ({ type }: SearchAttribute): boolean => type.replace('_', '') === typeName.toUpperCase();
  const needed = missing.filter(isOfType);
  const number = needed.length === 0 ? -1 : INDEXED_VALUE_TYPES[needed[0]!.type];
  const there = Object.values(await knownTypes(temporal)).filter((one) => one === number).length;
  return new Failure(
    `Temporal's namespace ${temporal.namespace} has no room for drover's search attributes, and none was registered: ` +
      `it has ${there} of type ${typeName} and room for ${Math.max(Number(most) - there, 0)} more, and drover needs ` +
      `${needed.length}: give drover its own namespace, by \`temporal operator namespace create --namespace drover\` ` +
      'and --temporal-namespace drover',
    { cause },
  );
}

/** Waits for Temporal's servers: each caches the list, and refuses a new name until its copy is fresh. */
async function untilUsable({ client, namespace }: Temporal): Promise<void> {
  const query = searchAttributes.map(({ name }) => `${name} = 'drover-setup'`).join(' AND ');
  let cause: unknown;
  const look = (): Promise<object | undefined> =>
    client.workflow.count(query).catch((error: unknown) => {
      if (grpcCodeOf(error) !== GrpcCode.INVALID_ARGUMENT) throw error;
      cause = error;
      return undefined;
    });
  if ((await lookUntil(look, { withinMs: USABLE_TIMEOUT_MS, everyMs: POLL_MS })) !== undefined) return;
  const problem = `Temporal's namespace ${namespace} still does not know drover's search attributes`;
  throw new Failure(`${problem}: ${sentenceOf(cause)}`, { cause });
}

function refused(error: unknown, what: string): Failure {
  const message = grpcCodeOf(error) === GrpcCode.PERMISSION_DENIED ? 'not allowed to' : 'Temporal failed to';
  return new Failure(`${message} ${what}: ${sentenceOf(error)}`, { cause: error });
}
