import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';

interface Probe {
  url: string;
  ca?: string;
  headers?: Record<string, string>;
}

/** Reports whether the server answers 200 within two seconds. */
export function answers({ url, ...options }: Probe): Promise<boolean> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const call = request(url, { ...options, agent: false, timeout: 2000 } as RequestOptions, (response) => {
      response.resume();
      response.once('close', () => resolve(response.statusCode === 200));
    });
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(false));
    call.end();
  });
}
