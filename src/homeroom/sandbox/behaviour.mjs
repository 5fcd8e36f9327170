// Runs inside a sandbox, under the pinned Node.js, and prints what it could do, as one JSON
// object: the name of each behaviour, and "open", "refused" or what happened instead.
// The one argument is a JSON object that says what to try.
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { execFileSync } from 'node:child_process';

const plan = JSON.parse(process.argv[2]);
const seen = {};

const attempt = (name, action) => {
  try {
    action();
    seen[name] = 'open';
  } catch {
    seen[name] = 'refused';
  }
};

// A denied directory may be an empty one, and a denied file an empty one: both are refusals.
for (const [name, file] of Object.entries(plan.read)) {
  attempt(name, () => {
    if (fs.readFileSync(file).length === 0) throw new Error('empty');
  });
}
for (const [name, file] of Object.entries(plan.write)) {
  attempt(name, () => fs.writeFileSync(file, 'x'));
}
for (const [name, directory] of Object.entries(plan.own)) {
  attempt(name, () => {
    const file = path.join(directory, 'homeroom-trial');
    fs.writeFileSync(file, 'x');
    fs.unlinkSync(file);
  });
}

// What a client does: the absolute address to the proxy, with the proxy's own password.
const throughProxy = (address) =>
  new Promise((resolve) => {
    const proxy = new URL(process.env.HTTP_PROXY ?? 'http://127.0.0.1:9');
    const secret = decodeURIComponent(`${proxy.username}:${proxy.password}`);
    const request = http.request(
      {
        host: '127.0.0.1',
        port: proxy.port,
        path: address,
        headers: {
          Host: new URL(address).host,
          'Proxy-Authorization': `Basic ${Buffer.from(secret).toString('base64')}`,
        },
        timeout: 5000,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200 ? 'open' : 'refused');
      },
    );
    request.on('error', () => resolve('refused'));
    request.on('timeout', () => request.destroy());
    request.end();
  });

const directly = (port) =>
  new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port, timeout: 3000 });
    socket.on('connect', () => resolve('open'));
    socket.on('error', () => resolve('refused'));
    socket.on('timeout', () => resolve('refused'));
  });

const unixSocket = (file) =>
  new Promise((resolve) => {
    const server = net.createServer();
    server.on('error', () => resolve('refused'));
    server.listen(file, () => server.close(() => resolve('open')));
  });

seen['network.allowed'] = await throughProxy(plan.allowed);
seen['network.other-host'] = await throughProxy(plan.other);
seen['network.direct'] = await directly(Number(new URL(plan.allowed).port));
seen['network.unix-socket'] = await unixSocket(plan.socket);

if (plan.commit) {
  attempt('git.commit', () =>
    execFileSync('git', ['commit', '--quiet', '--allow-empty', '-m', 'a trial'], { stdio: 'ignore' }),
  );
}
for (const [name, words] of Object.entries(plan.arguments)) {
  seen[name] = JSON.stringify(words) === JSON.stringify(process.argv.slice(3)) ? 'open' : 'refused';
}

process.stdout.write(JSON.stringify(seen));
