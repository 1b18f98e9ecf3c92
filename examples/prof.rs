use mha::ops::*; use mha::plan::spec::*; use nalgebra::DMatrix; use std::time::Instant;
fn main(){ let n:usize=std::env::args().nth(1).unwrap().parse().unwrap();
 let q=DMatrix::<f32>::from_fn(n,64,|i,j| ((i*7+j*13)%101) as f32/50.0-1.0);
 let a=Arithmetic::Fast{threads:1};
 for _ in 0..4 {
 let t=Instant::now(); let s=Scores{scale:Scale::RootOfDk,d_k:64}.compute(&[q.as_view(),q.as_view()],a); let t1=t.elapsed();
 let t=Instant::now(); let w=Softmax{empty_rows:FullyMaskedRows::Error,sink:None}.compute(&[s.as_view()],a); let t2=t.elapsed();
 let t=Instant::now(); let o=Mix.compute(&[w.as_view(),q.as_view()],a); let t3=t.elapsed();
 println!("scores {t1:?} softmax {t2:?} mix {t3:?} {}",o[(0,0)]);
 let _fin=s.iter().position(|c|!c.is_finite());
 }
}
