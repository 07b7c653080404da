import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Authority } from './credentials.ts';
import { SERVER } from './peer.ts';
import type { Proxied } from './proxied.ts';

/**
 * An authenticating proxy before a dashboard: it speaks TLS with browsers, and TLS with its client certificate with the
 * dashboard, on kept connections that all users share. Users sign in at `/sign-in/NAME`; all others are sent to a page
 * of another origin that has links there.
 */
export class ReverseProxy {
  /** Who is signed in, by the value of their cookie, and their groups. */
  readonly users = new Map<string, string[]>();
  /** How many streams it has passed on. */
  opened = 0;
  readonly port: number;
  readonly #server: Server;
  /** The path below which it serves the dashboard, which does not know of it, such as `/drover`. */
  readonly #below: string;
  #to: { port: number; agent: Agent } | undefined;

  private constructor(server: Server, below: string) {
    this.#server = server;
    this.#below = below;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start({ below = '' } = {}): Promise<ReverseProxy> {
    let proxy: ReverseProxy | undefined;
    const own = await (await Authority.make()).issue('proxy');
    const server = createServer(own, (incoming, outgoing) => proxy!.#pass(incoming, outgoing));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return (proxy = new ReverseProxy(server, below));
  }

  /** Passes on to this dashboard, which it shows its client certificate. */
  leadTo({ dashboard, files, proxy }: Proxied): void {
    const agent = new Agent({ ca: files.servers.pem, ...proxy, keepAlive: true, servername: SERVER });
    this.#to = { port: dashboard.port, agent };
  }

  get origin(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get #login(): string {
    return `https://localhost:${this.port}/login`;
  }

  async close(): Promise<void> {
    this.#to?.agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const [, signsIn] = /^\/sign-in\/(.+)$/.exec(incoming.url!) ?? [];
    if (signsIn !== undefined) {
      outgoing
        .writeHead(302, { 'Set-Cookie': `who=${signsIn}; Path=/; Secure; HttpOnly`, Location: `${this.#below}/` })
        .end();
      return;
    }
    if (`https://${incoming.headers.host}${incoming.url}` === this.#login) {
      const links = [...this.users.keys()].map((name) => `<a href="${this.origin}/sign-in/${name}">${name}</a>`);
      outgoing.writeHead(200, { 'Content-Type': 'text/html' }).end(links.join(' '));
      return;
    }
    const [, user = ''] = /(?:^|; )who=([^;]+)/.exec(incoming.headers.cookie ?? '') ?? [];
    const groups = this.users.get(user);
    if (groups === undefined) {
      outgoing.writeHead(302, { Location: this.#login }).end();
      return;
    }
    const { 'x-forwarded-user': _user, 'x-forwarded-groups': _groups, ...headers } = incoming.headers;
    const said = { 'X-Forwarded-User': user, 'X-Forwarded-Groups': groups.join(',') };
    const { method } = incoming;
    if (!incoming.url!.startsWith(`${this.#below}/`)) return void outgoing.writeHead(404).end();
    const path = incoming.url!.slice(this.#below.length);
    if (path === '/api/stream') this.opened++;
    const options = { host: '127.0.0.1', ...this.#to, path, method };
    const passing = request({ ...options, headers: { ...headers, ...said } }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    passing.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    outgoing.on('close', () => passing.destroy());
    incoming.pipe(passing);
  }
}
