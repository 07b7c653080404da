import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import { inject } from 'vitest';
import type { ProcessName, Stack } from '../../dev/embedded-stack.ts';
import type { Answer, Lease, Order, Wanted } from './stack-pool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Socket of the pool of stacks; only for tests on servers. */
    stacks: string;
  }
}

/**
 * A stack that other files have used before, and others will use after this one. Of its servers, only the simulator may
 * be killed and stopped: each lease has its own.
 */
export class LeasedStack implements Stack {
  readonly state: string;
  readonly kubeconfig: string;
  readonly temporalAddress: string;
  readonly temporalUi: string;
  readonly env: Record<string, string>;
  readonly processes = [];
  readonly #connection: Socket;
  readonly #answers: Interface;
  #obeyed: Promise<void> = Promise.resolve();

  private constructor(
    connection: Socket,
    answers: Interface,
    { state, kubeconfig, temporalAddress, temporalUi, env }: Lease,
  ) {
    this.#connection = connection;
    this.#answers = answers;
    this.state = state;
    this.kubeconfig = kubeconfig;
    this.temporalAddress = temporalAddress;
    this.temporalUi = temporalUi;
    this.env = env;
  }

  static async lease(wanted: Wanted, socket = inject('stacks')): Promise<LeasedStack> {
    const connection = connect(socket);
    const answers = createInterface({ input: connection });
    connection.write(`${JSON.stringify(wanted)}\n`);
    return new LeasedStack(connection, answers, await leaseIn(answers));
  }

  /** Brings the API server back to what it held at first. Temporal and the simulator continue. */
  restoreApiServer(): Promise<void> {
    return this.#order('restore');
  }

  async stop(): Promise<void> {
    this.#connection.end();
    await once(this.#connection, 'close');
  }

  halt(name: ProcessName): Promise<void> {
    return name === 'simulator' ? this.#order('halt simulator') : Promise.reject(SHARED);
  }

  restart(name: ProcessName): Promise<void> {
    return name === 'simulator' ? this.#order('restart simulator') : Promise.reject(SHARED);
  }

  kill(name: ProcessName): void {
    if (name !== 'simulator') throw SHARED;
    void this.#order('kill simulator');
  }

  /** The pool answers orders one by one. */
  #order(order: Order): Promise<void> {
    const obeyed = this.#obeyed.then(async () => {
      this.#connection.write(`${order}\n`);
      await leaseIn(this.#answers);
    });
    this.#obeyed = obeyed.catch(() => {});
    return obeyed;
  }
}

async function leaseIn(answers: Interface): Promise<Lease> {
  const [line] = (await once(answers, 'line')) as [string];
  const answer = JSON.parse(line) as Answer;
  if ('error' in answer) throw new Error(`no stack could be had: ${answer.error}`);
  return answer.lease;
}

const SHARED = new Error('this stack is shared with other files: ask for one whose data is durable');
