import { setTimeout as sleep } from 'node:timers/promises';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, type Logger, type Worker } from '@temporalio/worker';
import { untilAborted } from '../ending/until-aborted.ts';
import { RepeatedProblem, whyUnreached } from '../health/repeated-problem.ts';
import { followRenewals, type Adoption } from './renewed-credentials.ts';

const CONNECT_AGAIN_MS = 500;
const MAX_CONNECT_AGAIN_MS = 5_000;
const SLOW_MS = 5_000;
const DEFAULT_ADDRESS = 'localhost:7233';

type Config = ReturnType<typeof loadClientConnectConfig>;
const read = (): Config => loadClientConnectConfig();

interface Surroundings {
  logger: Logger;
  /** Aborted when the process is asked to stop. */
  stop: AbortSignal;
}

/** A connection, and its replacement. */
interface Link {
  connection: NativeConnection;
  next?: Link;
}

/**
 * The connection of a worker's process to Temporal. A connection keeps the certificate and the key that it was made
 * with, so another request replaces it when these are renewed: workers go over to it in the middle of their work.
 */
export class TemporalConnection {
  readonly #in: Surroundings;
  readonly #config: Config;
  #newest: Link;
  readonly #workers = new Set<Worker>();
  readonly #creating = new Set<Promise<unknown>>();

  private constructor(connection: NativeConnection, config: Config, surroundings: Surroundings) {
    this.#newest = { connection };
    this.#config = config;
    this.#in = surroundings;
  }

  /**
   * Connects as Temporal's own CLI would, by its environment variables and configuration file, and waits for Temporal
   * if it comes up after the worker.
   */
  static async open(surroundings: Surroundings): Promise<TemporalConnection> {
    const { logger, stop } = surroundings;
    let address = DEFAULT_ADDRESS;
    const problem = new RepeatedProblem((message) => logger.warn(message, { address }));
    for (let delayMs = CONNECT_AGAIN_MS; ; delayMs = Math.min(2 * delayMs, MAX_CONNECT_AGAIN_MS)) {
      const config = read();
      ({ address = DEFAULT_ADDRESS } = config.connectionOptions);
      const lasts = (why: string): void =>
        problem.lasts(`Temporal at ${address} does not answer, and is tried again until it does: ${why}`);
      // A server that accepts connections and says nothing is given half a minute.
      const slow = setTimeout(lasts, SLOW_MS, 'it has said nothing yet');
      try {
        const connection = await untilAborted(NativeConnection.connect(config.connectionOptions), stop);
        return new TemporalConnection(connection, config, surroundings);
      } catch (error) {
        if (!stop.aborted) lasts(whyUnreached(error));
        await sleep(delayMs, undefined, { signal: stop });
      } finally {
        clearTimeout(slow);
      }
    }
  }

  get namespace(): string {
    return namespaceOf(this.#config);
  }

  /** Goes over to what is renewed; ends once another namespace is configured, which workers can't go over to. */
  followRenewals(): Promise<void> {
    const { logger, stop } = this.#in;
    const problem = new RepeatedProblem((message) =>
      logger.warn(`the renewed credentials for Temporal cannot be used: ${message}`),
    );
    const adopt = async (config: Config): Promise<Adoption> => {
      if (namespaceOf(config) !== this.namespace) return 'restart';
      try {
        await this.#replace(await NativeConnection.connect(config.connectionOptions));
      } catch (error) {
        problem.lasts(whyUnreached(error));
        return 'refused';
      }
      logger.info('the renewed credentials for Temporal are now used');
      return 'adopted';
    };
    return followRenewals({ signal: stop, read, used: this.#config, adopt });
  }

  /**
   * Returns a connection that is always the newest. An activity keeps the client that its worker had when it began, for
   * hours: the calls of that client have to go over as well.
   */
  view(): NativeConnection {
    let link = this.#newest;
    return new Proxy(link.connection, {
      get: (_target, key) => {
        while (link.next !== undefined) link = link.next;
        const value: unknown = Reflect.get(link.connection, key);
        return typeof value === 'function' ? (value.bind(link.connection) as unknown) : value;
      },
    });
  }

  /** Creates a worker that goes over to each later connection. */
  async serve(create: (connection: NativeConnection) => Promise<Worker>): Promise<Worker> {
    const creating = create(this.view());
    this.#creating.add(creating);
    try {
      const worker = await creating;
      this.#workers.add(worker);
      return worker;
    } finally {
      this.#creating.delete(creating);
    }
  }

  /** Has all calls from now on use this connection, and closes the one before. */
  async #replace(connection: NativeConnection): Promise<void> {
    // A worker learns of its first connection only once it has been created.
    while (this.#creating.size > 0) await Promise.allSettled(this.#creating);
    const before = this.#newest;
    this.#newest = { connection };
    for (const worker of this.#workers)
      if (HAS_ENDED.has(worker.getState())) this.#workers.delete(worker);
      else worker.connection = this.view();
    // Not before: a worker compares the new connection with its present one.
    before.next = this.#newest;
    await closed(before.connection, this.#in.logger);
  }

  close(): Promise<void> {
    return closed(this.#newest.connection, this.#in.logger);
  }
}

const namespaceOf = ({ namespace = 'default' }: Config): string => namespace;

/** What ended the worker must not be hidden by an error while it closes. */
const closed = (connection: NativeConnection, logger: Logger): Promise<void> =>
  connection
    .close()
    .catch((error: unknown) =>
      logger.warn('the connection to Temporal could not be closed', { error: (error as Error).message }),
    );

const HAS_ENDED: ReadonlySet<string> = new Set(['STOPPED', 'FAILED']);
