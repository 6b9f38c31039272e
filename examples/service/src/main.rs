use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::{env, io, thread};

mod net {
    cellc_runtime::include_model!("net");
}

/// One client, one state: a line of 10 numbers in, a line of 4 numbers out.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut network = net::Net::new();
    for line in BufReader::new(stream.try_clone()?).lines() {
        let numbers: Vec<f32> =
            line?.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let Ok(frame) = <&[f32; 10]>::try_from(&numbers[..]) else {
            writeln!(stream, "10 numbers are expected")?;
            continue;
        };
        let mut out = [0.0; 4];
        network.step(frame, &mut out);
        writeln!(stream, "{:.4} {:.4} {:.4} {:.4}", out[0], out[1], out[2], out[3])?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7878".to_owned());
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || serve(stream));
    }
    Ok(())
}
