// node serve.mjs: the page at http://localhost:8000. `check` gives it to a browser and takes the result.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const TYPES = { html: 'text/html', mjs: 'text/javascript', js: 'text/javascript', wasm: 'application/wasm' };

/// A server of this folder's files; `posted` gets what the page posts.
export function server(posted) {
    return createServer(async (request, response) => {
        if (request.method === 'POST') {
            let body = '';
            for await (const part of request) body += part;
            response.end();
            return posted(body);
        }
        const name = request.url.split('?')[0].slice(1) || 'index.html';
        const type = /^[a-z]+\.([a-z]+)$/.test(name) && TYPES[name.split('.')[1]];
        try {
            if (!type) throw new Error('no file of the page');
            const file = await readFile(new URL(name, import.meta.url));
            response.writeHead(200, { 'content-type': type }).end(file);
        } catch {
            response.writeHead(404).end();
        }
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    server(() => {}).listen(8000, 'localhost', () => console.log('http://localhost:8000'));
}
