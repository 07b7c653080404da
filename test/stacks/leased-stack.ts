import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import type { Stack } from '../../dev/embedded-stack.ts';
import type { Answer, Lease, Wanted } from './stack-pool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Socket of the pool of stacks; only for tests on servers. */
    stacks: string;
  }
}

/** A stack that other files have used before, and others will use after this one. Its servers are not to be killed. */
export class LeasedStack implements Stack {
  readonly state: string;
  readonly kubeconfig: string;
  readonly temporalAddress: string;
  readonly temporalUi: string;
  readonly env: Record<string, string>;
  readonly processes = [];
  readonly #connection: Socket;

  private constructor(connection: Socket, { state, kubeconfig, temporalAddress, temporalUi, env }: Lease) {
    this.#connection = connection;
    this.state = state;
    this.kubeconfig = kubeconfig;
    this.temporalAddress = temporalAddress;
    this.temporalUi = temporalUi;
    this.env = env;
  }

  static async lease(wanted: Wanted, socket = inject('stacks')): Promise<LeasedStack> {
    const connection = connect(socket);
    connection.write(`${JSON.stringify(wanted)}\n`);
    const [line] = (await once(createInterface({ input: connection }), 'line')) as [string];
    const answer = JSON.parse(line) as Answer;
    if ('error' in answer) throw new Error(`no stack could be had: ${answer.error}`);
    return new LeasedStack(connection, answer.lease);
  }

  async stop(): Promise<void> {
    this.#connection.end();
    await once(this.#connection, 'close');
  }

  halt(): Promise<void> {
    return Promise.reject(SHARED);
  }

  restart(): Promise<void> {
    return Promise.reject(SHARED);
  }

  kill(): void {
    throw SHARED;
  }
}

const SHARED = new Error('this stack is shared with other files: ask for one whose data is durable');
