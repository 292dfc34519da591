//! GPUs of a node by thousandths, and the choice of GPUs for a pod.

/// Thousandths of one GPU.
pub const WHOLE: i64 = 1000;

/// GPUs that a pod asks for: part of one, or several whole ones. No GPU is the part 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub count: usize,
    /// Thousandths of each.
    pub milli: i64,
}

impl Request {
    /// The GPUs in an amount of thousandths; none for more than one GPU that is no number of whole ones.
    pub fn of(milli: i64) -> Option<Self> {
        match milli {
            ..=0 => Some(Self::default()),
            1..WHOLE => Some(Self { count: 1, milli }),
            _ if milli % WHOLE == 0 => Some(Self { count: usize::try_from(milli / WHOLE).ok()?, milli: WHOLE }),
            _ => None,
        }
    }

    pub fn is_part(self) -> bool {
        self.count == 1 && self.milli < WHOLE
    }

    /// Thousandths of all GPUs.
    pub fn total(self) -> i64 {
        self.count as i64 * self.milli
    }
}

/// Thousandths left on each GPU of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus(pub Vec<i64>);

impl Gpus {
    pub fn idle(count: usize) -> Self {
        Self(vec![WHOLE; count])
    }

    /// Thousandths left on all GPUs.
    pub fn left(&self) -> i64 {
        self.0.iter().sum()
    }

    /// Number of GPUs with at least so many thousandths left.
    pub fn with_room(&self, milli: i64) -> usize {
        self.0.iter().filter(|&&left| left >= milli).count()
    }

    pub fn fits(&self, request: Request) -> bool {
        self.with_room(request.milli) >= request.count
    }

    /// The GPU with the least room that fits part of a GPU, the first of several; for whole ones, the first idle ones.
    pub fn tightest(&self, request: Request) -> Option<Vec<usize>> {
        let mut fitting: Vec<usize> = (0..self.0.len()).filter(|&gpu| self.0[gpu] >= request.milli).collect();
        fitting.sort_by_key(|&gpu| self.0[gpu]);
        (fitting.len() >= request.count).then(|| {
            fitting.truncate(request.count);
            fitting.sort_unstable();
            fitting
        })
    }

    /// Takes the thousandths of a request from some GPUs; those that do not exist are ignored.
    pub fn take(&mut self, gpus: &[usize], milli: i64) {
        for &gpu in gpus {
            if let Some(left) = self.0.get_mut(gpu) {
                *left = (*left - milli).max(0);
            }
        }
    }
}

/// Numbers of GPUs in an annotation, such as `0,3`; none for anything else.
pub fn parsed(text: &str) -> Option<Vec<usize>> {
    text.split(',').map(|number| number.parse().ok()).collect()
}

/// The annotation of some GPUs.
pub fn shown(gpus: &[usize]) -> String {
    gpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}
