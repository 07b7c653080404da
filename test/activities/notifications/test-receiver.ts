import { once } from 'node:events';
import { createServer as createHttp, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Heard {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** 'endless': begins with 200 and a byte now and then, and does not end. */
type Answer = { status?: number; headers?: Record<string, string> } | 'never' | 'endless';

/** A receiver of notifications on this machine, until the test ends. */
export class TestReceiver {
  readonly heard: Heard[] = [];
  /** What it answers; 204 for what it takes. */
  answer: (heard: Heard) => Answer = () => ({});
  readonly #server: Server;
  readonly #scheme: string;

  private constructor(tls?: ServerOptions) {
    const listen: RequestListener = (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const heard = { path: request.url!, headers: request.headers, body: Buffer.concat(parts).toString() };
        this.heard.push(heard);
        const answer = this.answer(heard);
        if (answer === 'endless') {
          const next = setInterval(() => response.write('.'), 10);
          response
            .on('close', () => clearInterval(next))
            .writeHead(200)
            .write('.');
        } else if (answer !== 'never') response.writeHead(answer.status ?? 204, answer.headers).end();
      });
    };
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server = tls === undefined ? createHttp(listen) : createHttps(tls, listen);
  }

  /** `port`: where it was before, if it comes back. */
  static async begin({ tls, port = 0 }: { tls?: ServerOptions; port?: number } = {}): Promise<TestReceiver> {
    const receiver = new TestReceiver(tls);
    receiver.#server.listen(port, '127.0.0.1');
    await once(receiver.#server, 'listening');
    onTestFinished(() => receiver.end());
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}/drover?token=t`;
  }

  /** The events that it has heard, alone or in batches. */
  get events(): Record<string, unknown>[] {
    return this.heard.flatMap(({ body }) => [JSON.parse(body)].flat() as Record<string, unknown>[]);
  }

  end(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
