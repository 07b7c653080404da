import { Client, Connection, isGrpcServiceError, type ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { loadDataConverter } from '../../workers/connection/data-converter.ts';
import { Failure, sentenceOf } from '../cli/failure.ts';

export interface Temporal {
  client: Client;
  connection: Connection;
  namespace: string;
  address: string;
  /** How it is reached by TLS; undefined without. */
  tls: ConnectionOptions['tls'];
}

/** Temporal does not answer, or is not at the address that a command knows. */
export class TemporalUnreachable extends Failure {}

const CONNECT_TIMEOUT_MS = 4_000;
/**
 * As in Temporal's Go SDK. A page of a history can be larger than gRPC's own limit of 4 MiB, since a workflow continues
 * as new only at that size.
 */
const LARGEST_MESSAGE = 128 * 1024 * 1024;

interface TemporalChoice {
  address?: string | undefined;
  namespace?: string | undefined;
  /** False if Temporal's environment variables and configuration file are about another server. */
  configured?: boolean;
}

/**
 * Connects as Temporal's own CLI would, by its environment variables and configuration file. `given` overrides both.
 */
export async function connectTemporal(given: TemporalChoice): Promise<Temporal> {
  const config: ReturnType<typeof loadClientConnectConfig> =
    given.configured === false ? { connectionOptions: {} } : readConfig();
  const options = config.connectionOptions as ConnectionOptions;
  const address = given.address ?? options.address ?? 'localhost:7233';
  const namespace = given.namespace ?? config.namespace ?? 'default';
  const dataConverter = await readDataConverter();
  try {
    const channelArgs = { 'grpc.max_receive_message_length': LARGEST_MESSAGE, ...options.channelArgs };
    const connection = await Connection.connect({
      ...options,
      address,
      connectTimeout: CONNECT_TIMEOUT_MS,
      channelArgs,
    });
    return {
      connection,
      client: new Client({ connection, namespace, ...(dataConverter === undefined ? {} : { dataConverter }) }),
      namespace,
      address,
      tls: options.tls,
    };
  } catch (error) {
    throw new TemporalUnreachable(
      `Temporal at ${address} does not answer (${sentenceOf(error)}): ` +
        'start it (`drover dev` brings one), or give its address with --address or TEMPORAL_ADDRESS',
      { cause: error },
    );
  }
}

async function readDataConverter(): Promise<DataConverter | undefined> {
  try {
    return await loadDataConverter(process.env['DROVER_DATA_CONVERTER']);
  } catch (error) {
    throw new Failure(sentenceOf(error), { cause: error });
  }
}

function readConfig(): ReturnType<typeof loadClientConnectConfig> {
  try {
    return loadClientConnectConfig();
  } catch (error) {
    throw new Failure(`Temporal's configuration cannot be read: ${sentenceOf(error)}`, { cause: error });
  }
}

export const GrpcCode = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
} as const;

/** Returns the gRPC status of an error of Temporal's client, even a wrapped one; `undefined` for other errors. */
export function grpcCodeOf(error: unknown): number | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isGrpcServiceError(cause)) return cause.code;
  return undefined;
}

/** Reports whether Temporal knows no such workflow. By name: the class would load all of Temporal's client. */
export const isWorkflowNotFound = (error: unknown): boolean =>
  grpcCodeOf(error) === GrpcCode.NOT_FOUND || (error as Error).name === 'WorkflowNotFoundError';
