/** A mail server on this machine that takes everything, as far as RFC 5321 is needed for that. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { onTestFinished } from 'vitest';

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** The mail as it came, headers and text. */
  readonly data: string;
}

export interface MailSink {
  readonly port: number;
  readonly mails: readonly Mail[];
  /** User and password of each log-in. */
  readonly logins: readonly string[];
  /** From now on each recipient is answered so. */
  answerRecipients(answer: string): void;
  /** From now on each mail is answered so once it has come. */
  answerMails(answer: string): void;
}

interface Session {
  from: string;
  to: string[];
  data: string[] | undefined;
}

/** `tls`: key and certificate of a server that speaks TLS from the beginning. */
export async function startMailSink(tls?: {
  readonly key: string;
  readonly cert: string;
}): Promise<MailSink> {
  const mails: Mail[] = [];
  const logins: string[] = [];
  let toRecipient = '250 OK';
  let toMail = '250 taken';
  const answerTo = (session: Session, line: string): string | undefined => {
    if (session.data) {
      if (line !== '.') {
        session.data.push(line.replace(/^\.\./, '.'));
        return undefined;
      }
      mails.push({ from: session.from, to: session.to, data: session.data.join('\n') });
      session.data = undefined;
      return toMail;
    }
    const [, command = '', rest = ''] = /^(\S+) ?(.*)$/.exec(line) ?? [];
    const [, address = ''] = /<([^>]*)>/.exec(rest) ?? [];
    switch (command.toUpperCase()) {
      case 'EHLO':
        return '250-sink\r\n250 AUTH PLAIN';
      case 'AUTH':
        logins.push(Buffer.from(rest.replace('PLAIN ', ''), 'base64').toString());
        return '235 OK';
      case 'MAIL':
        Object.assign(session, { from: address, to: [] });
        return '250 OK';
      case 'RCPT':
        if (toRecipient.startsWith('2')) session.to.push(address);
        return toRecipient;
      case 'DATA':
        session.data = [];
        return '354 go on';
      case 'QUIT':
        return '221 bye';
      default:
        return '250 OK';
    }
  };
  const sockets = new Set<Socket>();
  const serve = (socket: Socket): void => {
    sockets.add(socket);
    const session: Session = { from: '', to: [], data: undefined };
    let rest = '';
    socket.write('220 sink\r\n');
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = answerTo(session, line);
        if (answer !== undefined) socket.write(`${answer}\r\n`);
        if (line.toUpperCase() === 'QUIT') socket.end();
      }
    });
  };
  const server = tls ? createTlsServer(tls, serve) : createServer(serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    mails,
    logins,
    answerRecipients(answer) {
      toRecipient = answer;
    },
    answerMails(answer) {
      toMail = answer;
    },
  };
}
